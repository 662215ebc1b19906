// Reading of logs: JSON text sequences (RFC 7464) of a header and events. What is no event of ours is counted and passed over.

const FILE_SCHEMA = "urn:ietf:params:qlog:file:sequential";

// Header, events and the number of damaged records of a file. Throws what is wrong with it.
function parseLog(text) {
  const texts = text.split("\u001e");
  if (texts.shift().length) throw new Error("no qlog: expected a JSON text sequence that begins with a header");
  const records = texts.filter((text) => text.trim()).map((text) => {
    try { return JSON.parse(text); } catch { return null; }
  });
  const header = records.shift();
  if (header?.file_schema !== FILE_SCHEMA) throw new Error(`no qlog of file schema ${FILE_SCHEMA}`);
  const isEvent = (record) => Number.isFinite(record?.time) && typeof record.name === "string" && typeof record.data === "object" && record.data;
  const events = records.filter(isEvent);
  if (!events.some(({ name }) => name.startsWith("seaway:"))) throw new Error("a qlog without an event of the namespace seaway");
  return { header, events, damaged: records.length - events.length };
}

// The series, decisions and other events of a log, by the flow or link they belong to; "" is the session itself.
class Log {
  groups = new Map();
  others = 0;

  constructor({ header, events, damaged }, metrics) {
    Object.assign(this, { header, damaged, count: events.length, metrics });
    for (const { time, name, data, group_id: group } of [...events].sort((a, b) => a.time - b.time)) {
      this.#take(this.#group(typeof group === "string" ? group : ""), time / 1000, name, data);
    }
    const ends = events.map(({ time }) => time / 1000);
    this.span = [0, ends.reduce((most, time) => Math.max(most, time), 0.001)];
  }

  #group(name) {
    if (!this.groups.has(name)) this.groups.set(name, { series: new Map(), decisions: [], events: [] });
    return this.groups.get(name);
  }

  #take(group, time, name, data) {
    const add = (key, value, unit, label) => {
      if (typeof value !== "number") return;
      if (!group.series.has(key)) group.series.set(key, { key, unit, label, points: [] });
      group.series.get(key).points.push([time, value]);
    };
    if (name === "seaway:values") {
      for (const [key, value] of Object.entries(data)) {
        const { label = key, unit = "", factor = 1 } = this.metrics.find((metric) => metric.key === key) ?? {};
        add(key, value * factor, unit, label);
      }
    } else if (name === "seaway:reading") {
      const label = String(data.name).replaceAll("_", " ");
      add(String(data.name), data.value, String(data.unit), label);
    } else if (name === "seaway:picture_displayed") {
      add("picture_delay", data.delay_ms, "ms", "pictures");
    } else if (name === "seaway:decision") {
      const number = (value) => (typeof value === "number" ? value : null);
      const { name: signal, value, unit } = data.signal ?? {};
      const { before_bps: before, after_bps: after, threshold, phase } = data;
      group.decisions.push({
        at: time, before: number(before), after: number(after), cause: String(data.cause), signal: String(signal),
        value: number(value), unit: String(unit ?? ""), threshold: number(threshold), phase: String(phase ?? ""),
      });
    } else if (name === "seaway:event") {
      group.events.push({ at: time, kind: String(data.kind), what: String(data.what) });
    } else {
      this.others += 1;
    }
  }

  // Links have a capacity, and a session is no link.
  get links() { return [...this.groups].filter(([name, { series }]) => name && series.has("capacity")).map(([name]) => name); }
  get flows() { return [...this.groups.keys()].filter((name) => !this.links.includes(name)); }
}
