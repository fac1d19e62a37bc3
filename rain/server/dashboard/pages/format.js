// Numbers as people read them.

export function clock(seconds) {
  if (!seconds) {
    return "";
  }
  const time = new Date(seconds * 1000);
  const today = new Date().toDateString() === time.toDateString();
  const day = today ? "" : `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} `;
  return `${day}${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
}

function two(number) {
  return String(number).padStart(2, "0");
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) {
    return "";
  }
  if (seconds < 0.9995) {
    return `${Math.round(seconds * 1000)} ms`;
  }
  if (seconds < 60) {
    return `${seconds.toFixed(seconds < 10 ? 2 : 1)} s`;
  }
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) {
    return `${minutes} min ${Math.floor(seconds % 60)} s`;
  }
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function bytes(count) {
  if (count === null || count === undefined) {
    return "";
  }
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let place = 0;
  while (count >= 1024 && place < units.length - 1) {
    count /= 1024;
    place += 1;
  }
  return `${place && count < 10 ? count.toFixed(1) : Math.round(count)} ${units[place]}`;
}

export function number(count) {
  return count === null || count === undefined ? "" : count.toLocaleString("en");
}

export function percent(part) {
  return `${(part * 100).toFixed(part > 0 && part < 0.1 ? 1 : 0)} %`;
}
