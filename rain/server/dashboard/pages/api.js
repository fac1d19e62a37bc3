// The one place where the dashboard asks the server.

/** What the server answers as JSON; an Error with its one line when it refuses. */
export async function ask(path, body = undefined) {
  const request = { headers: {}, cache: "no-store" };
  if (body !== undefined) {
    request.method = "POST";
    request.headers["content-type"] = "application/json";
    request.body = JSON.stringify(body);
  }
  let response;
  try {
    // Not relative to the page, whose own address may have a password.
    response = await fetch(new URL(path, window.location.origin), request);
  } catch {
    throw new Error("the server does not answer");
  }
  if (!response.ok) {
    throw new Error((await response.text()).trim() || `status ${response.status}`);
  }
  return response.json();
}

/** A path below /api with its query string; empty values are left out. */
export function api(name, query = {}) {
  const parts = Object.entries(query).filter(([, value]) => value !== "" && value != null);
  const text = new URLSearchParams(parts).toString();
  return ask(`/api/${name}${text ? `?${text}` : ""}`);
}
