"""Fusing: straight chains of remote functions become one task each, a unit (`rain.client.unit`)."""
