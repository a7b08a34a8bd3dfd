/**
 * Checks of settings. A check returns the value with its variables replaced, or reports the fault and returns
 * undefined.
 */
import { type EntryProblem, expand, type FieldPath, httpUrlFault, type Variables } from '../../client/internal.ts'
import { isObject, MAX_TIMER_MS, nameAdvice, withoutUndefined } from '../../protocol/index.ts'

/** The place of a value in the configuration. */
export interface SettingPlace {
  readonly path: FieldPath
  readonly variables: Variables
  readonly report: (problem: EntryProblem) => void
  /** Explains an unknown member that is valid elsewhere. */
  readonly elsewhere?: (name: string) => string | undefined
}

export type Check<T> = (value: unknown, place: SettingPlace) => T | undefined

export function within(place: SettingPlace, part: string | number): SettingPlace {
  return { ...place, path: [...place.path, part] }
}

/** Reports the fault and returns undefined. */
export function refuse({ path, report }: SettingPlace, sentence: string): undefined {
  report({ path, code: 'CONFIG_INVALID', sentence })
}

export const flag: Check<boolean> = orVariable(
  (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  (value, place) => (typeof value === 'boolean' ? value : refuse(place, 'must be true or false.')),
)

/** `fault` describes what is wrong with a text, and never quotes it. */
export function text(fault: (text: string) => string | undefined = notEmpty): Check<string> {
  return (value, place) => {
    if (typeof value !== 'string') return refuse(place, 'must be a string.')
    const expansion = expand(value, place.variables)
    if ('missing' in expansion) return reportMissing(expansion.missing, place)
    const sentence = fault(expansion.text)
    return sentence === undefined ? expansion.text : refuse(place, sentence)
  }
}

function notEmpty(value: string): string | undefined {
  return value === '' ? 'must not be empty.' : undefined
}

function reportMissing({ name, advice }: { name: string; advice: string }, { path, report }: SettingPlace): undefined {
  report({ path, code: 'CONFIG_VARIABLE_MISSING', sentence: `needs the variable "${name}". ${advice}` })
}

export const address: Check<string> = text(httpUrlFault)

/** `fault` describes what is wrong with a number; `form` is the sentence for any other value. */
function number(form: string, fault: (value: number) => string | undefined): Check<number> {
  return orVariable(numberIn, (value, place) => {
    const sentence = typeof value === 'number' ? fault(value) : form
    return sentence === undefined ? (value as number) : refuse(place, sentence)
  })
}

function numberIn(text: string): number | undefined {
  return /^-?\d+(\.\d+)?$/.test(text.trim()) ? Number(text) : undefined
}

export function whole(least: number, most = Number.MAX_SAFE_INTEGER): Check<number> {
  const range =
    most === Number.MAX_SAFE_INTEGER ? `a whole number, at least ${least}` : `a whole number from ${least} to ${most}`
  const form = `must be ${range}.`
  return number(form, (value) => (Number.isSafeInteger(value) && value >= least && value <= most ? undefined : form))
}

const MAX_SECONDS = Math.floor(MAX_TIMER_MS / 1000)
const SECONDS = `must be a number of seconds, more than 0 and at most ${MAX_SECONDS}.`

/** @param least the minimum, if above 0 */
export function secondsFrom(least = 0): Check<number> {
  return number(SECONDS, (value) => {
    if (least > 0 && value < least) return `must be at least ${least}.`
    return value > 0 && value <= MAX_SECONDS ? undefined : SECONDS
  })
}

export const seconds: Check<number> = secondsFrom()

/**
 * Accepts a variable for a value that is no text: `"${PORT:-8932}"`. `read` parses its text. A fault names the
 * variable, never its value.
 */
function orVariable<T>(read: (text: string) => T | undefined, check: Check<T>): Check<T> {
  return (value, place) => {
    const name = typeof value === 'string' ? variableIn(value) : undefined
    if (typeof value !== 'string' || name === undefined) return check(value, place)
    const { onValue: _, ...variables } = place.variables // a number or a flag is no secret
    const expansion = expand(value, variables)
    if ('missing' in expansion) return reportMissing(expansion.missing, place)
    if (expansion.text === value) return undefined // variables of a disabled server are not expanded
    const report = (problem: EntryProblem): void =>
      place.report({
        ...problem,
        sentence: problem.sentence.replace(/\.$/, `; the value of the variable "${name}" is not.`),
      })
    return check(read(expansion.text), { ...place, report })
  }
}

/** The name of the variable, if the text is exactly one variable. */
function variableIn(text: string): string | undefined {
  return /^\$\{(?:env:)?([^}]*?)\s*(?::-[^}]*)?\}$/.exec(text)?.[1]?.trim()
}

export function oneOf<const T extends string>(...choices: readonly T[]): Check<T> {
  const listed = choices.map((choice) => `"${choice}"`)
  const sentence = `must be ${listed.slice(0, -1).join(', ')} or ${listed.at(-1)}.`
  return (value, place) => choices.find((choice) => choice === value) ?? refuse(place, sentence)
}

export function listOf<T>(item: Check<T>): Check<readonly T[]> {
  return (value, place) => {
    if (!Array.isArray(value)) return refuse(place, 'must be a list.')
    const items = value.map((each: unknown, at) => item(each, within(place, at)))
    return items.filter((each) => each !== undefined)
  }
}

/** An object whose member names the user chooses. */
export function recordOf<T>(item: Check<T>): Check<Readonly<Record<string, T>>> {
  return (value, place) => {
    if (!isObject(value)) return refuse(place, 'must be an object.')
    const members: [string, T][] = []
    for (const [name, each] of Object.entries(value)) {
      const checked = item(each, within(place, name))
      if (checked !== undefined) members.push([name, checked])
    }
    return Object.fromEntries(members)
  }
}

/** One check for each member that a type has. */
export type MemberChecks<T> = { readonly [Name in keyof T]-?: Check<NonNullable<T[Name]>> }

/** An object with these members; those in `needed` are required, and any other is refused. */
export function shape<T extends object>(checks: MemberChecks<T>, needed: readonly (keyof T & string)[] = []) {
  const names = Object.keys(checks)
  return (value: unknown, place: SettingPlace): Partial<T> | undefined => {
    if (!isObject(value)) return refuse(place, 'must be an object.')
    const members: Partial<Record<string, unknown>> = {}
    for (const [name, each] of Object.entries(value)) {
      const check = Object.hasOwn(checks, name) ? checks[name as keyof T] : undefined
      if (check === undefined)
        refuse(within(place, name), place.elsewhere?.(name) ?? `is not known${nameAdvice(name, names)}`)
      else members[name] = check(each, within(place, name))
    }
    const missing = needed.filter((name) => !Object.hasOwn(value, name))
    for (const name of missing) refuse(place, `needs "${name}".`)
    return withoutUndefined(members) as Partial<T>
  }
}

/** The message of the error of this kind that `run` throws. */
export function faultOf(run: () => unknown, kind: new (...args: never[]) => Error = TypeError): string | undefined {
  try {
    run()
    return undefined
  } catch (error) {
    if (error instanceof kind) return error.message
    throw error
  }
}
