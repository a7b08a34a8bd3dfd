/**
 * Runs one client through all checks: `drive.ts DRIVER TARGET EVENTS [ERA]`. Tells the outcome of each check over the
 * channel to its parent.
 */
import { pathToFileURL } from 'node:url'
import { ANSWERS, runCheck, WHATS, type What } from './checks.ts'
import type { Connection, Driver, Era, Target } from './driver.ts'
import type { Outcome } from './outcome.ts'

const CHECK_MS = 40_000
const CLOSE_MS = 3_000

const [driverFile = '', targetJson = '', eventsFile = '', era] = process.argv.slice(2)
const { default: driver } = (await import(pathToFileURL(driverFile).href)) as { default: Driver }
const target = JSON.parse(targetJson) as Target
let connection: Connection | undefined

for (const what of WHATS) {
  const outcome = await outcomeOf(what)
  await new Promise((resolve) => process.send?.(outcome, resolve))
  if (what === 'connect' && !outcome.works) break
}
await forgetConnection()
process.exit(0)

async function outcomeOf(what: What): Promise<Outcome> {
  try {
    await within(CHECK_MS, tryOut(what))
    return { what, works: true }
  } catch (error) {
    await forgetConnection() // whatever is left of the call must not disturb the next one
    return { what, works: false, saw: sentenceOf(error) }
  }
}

async function tryOut(what: What): Promise<void> {
  connection ??= await driver.open(target, { answers: ANSWERS, era: era as Era | undefined })
  if (what !== 'connect') await runCheck(what, connection, eventsFile)
}

async function forgetConnection(): Promise<void> {
  const closing = connection?.close()
  connection = undefined
  await within(CLOSE_MS, Promise.resolve(closing)).catch(() => {})
}

async function within<T>(limitMs: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Nothing came within ${limitMs / 1000} s.`)), limitMs)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** The messages of an error and of its causes, in one line. */
function sentenceOf(error: unknown): string {
  const parts: string[] = []
  for (
    let next = error;
    next !== undefined && parts.length < 4;
    next = next instanceof Error ? next.cause : undefined
  ) {
    if (next instanceof Error) parts.push(next.message)
    else if (typeof next === 'string') parts.push(next)
  }
  return [...new Set(parts)].join(': ').replaceAll(/\s+/g, ' ').slice(0, 500)
}
