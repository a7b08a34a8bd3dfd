/** Compares a message with the one that a document prints. */

/** A member that one of the two messages lacks, or has with another value. `undefined` means that it is absent. */
export interface Difference {
  /** How the member is reached from the message: `result.requestState`, `params._meta["example.com/key"]`. */
  readonly path: string
  readonly printed: unknown
  readonly sent: unknown
}

/** Every difference between a printed message and the one that was sent, each at the topmost member that differs. */
export function differencesOf(printed: unknown, sent: unknown, path = ''): Difference[] {
  if (!isStructure(printed) || !isStructure(sent) || lengthOf(printed) !== lengthOf(sent))
    return Object.is(printed, sent) ? [] : [{ path, printed, sent }]
  const names = new Set([...Object.keys(printed), ...Object.keys(sent)])
  return [...names].flatMap((name) => differencesOf(printed[name], sent[name], memberPath(path, name)))
}

/** Lists of different lengths differ as a whole. */
function lengthOf(value: object): number | undefined {
  return Array.isArray(value) ? value.length : undefined
}

function memberPath(path: string, name: string): string {
  if (!/^\w+$/.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path === '' ? name : `${path}.${name}`
}

function isStructure(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
