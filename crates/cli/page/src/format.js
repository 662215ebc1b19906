// Numbers as people read them. Kilo is 1000.

const STEPS = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

export function rate(bps) {
  if (bps == null) return "–";
  const [scale, prefix] = STEPS.find(([scale]) => Math.abs(bps) >= scale) ?? STEPS[3];
  return `${significant(bps / scale)} ${prefix}bit/s`;
}

export function milliseconds(value) {
  return value == null ? "–" : `${significant(value)} ms`;
}

export function percent(ratio) {
  return ratio == null ? "–" : `${significant(ratio * 100)} %`;
}

export function decibels(value) {
  return value == null ? "–" : `${value.toFixed(1)} dB`;
}

export function seconds(value) {
  return `${value.toFixed(1)} s`;
}

export function count(value) {
  return value == null ? "–" : String(value);
}

export function quantity(value, unit) {
  if (unit === "bit/s") return rate(value);
  return `${significant(value)}${unit ? ` ${unit}` : ""}`;
}

function significant(value) {
  return Number.isFinite(value) ? String(Number(value.toPrecision(3))) : "–";
}
