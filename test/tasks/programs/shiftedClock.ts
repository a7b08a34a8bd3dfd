// Imported before anything else, it sets the clock of a process CLOCK_SHIFT_MS ahead of everybody else's.
const shiftMs = Number(process.env['CLOCK_SHIFT_MS'])
const RealDate = Date
const now = (): number => RealDate.now() + shiftMs

globalThis.Date = new Proxy(RealDate, {
  construct: (target, given, as) => Reflect.construct(target, given.length === 0 ? [now()] : given, as) as object,
  get: (target, name) => (name === 'now' ? now : (Reflect.get(target, name) as unknown)),
})

export {}
