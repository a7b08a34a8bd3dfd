/** Tells whether a server needs its sessions: sends as few requests as decide it, runs the checks, ends all sessions. */
import { type Address, addressOf, nameOf, type Target, plainLine } from '../client/index.ts'
import { RequestBudget } from './budget.ts'
import type { ProbeCheckContext } from './checks/check.ts'
import { runChecks } from './checks/runChecks.ts'
import { isResult } from './wire/reply.ts'
import type { CheckResults } from './report/evidence.ts'
import type { Decision } from './decision/result.ts'
import { Tracer } from './wire/trace.ts'
import type { Findings } from './decision/findings.ts'
import { type Secrets, secretsOf } from './secrets.ts'
import { guessFromMetadata, metadataOf } from './methods/metadata.ts'
import { assertSendable } from './wire/httpRequest.ts'
import { HttpWire } from './wire/http.ts'
import { locateProgram } from './program/locate.ts'
import { readProgram } from './program/read.ts'
import { type ProbeOptions, type Settings, settingsOf } from './options.ts'
import { REPORT_WORDS, report, type Verdict } from './report/report.ts'
import { askWitness, STEPS } from './decision/steps.ts'
import { StdioWire } from './wire/stdio.ts'
import { combined, twoFindings } from './decision/twoFindings.ts'
import { nextStep } from './decision/rules.ts'
import type { ProbeWire } from './wire/connection.ts'
import { DAY_MS, isObject, type Json } from '../protocol/index.ts'

/** Finds out whether a server needs its sessions, with as few requests as decide it. */
export async function probe(target: Target, options: ProbeOptions = {}): Promise<Verdict> {
  const settings = settingsOf(options)
  settings.signal?.throwIfAborted()
  const address = await addressOf(target, options.env)
  const started = performance.now()
  const budget = new RequestBudget(settings.maxRequests)
  const { wire, secrets } = createWire(address, settings, budget)
  try {
    const { findings: decisive, decided } = await decide(wire, address, settings)
    const read = { ...decisive, ...(await programOf(address, decisive, settings)) }
    const extended = settings.isExtended ? await initializeIfNeeded(wire, read, settings) : read
    const asked = { ...extended, ...(await witnessed(wire, extended, settings)) }
    const { findings, results } = await check(wire, { findings: asked, decided }, settings, budget)
    await wire.close()
    const two = twoFindings(findings)
    const isUsual = settings.order === 'usual' && settings.methods === undefined
    return {
      ...secrets.hideIn(report(findings, two, isUsual ? combined(two, decided) : decided, results)),
      target: nameOf(target),
      requests: wire.requests,
      durationMs: Math.round(performance.now() - started),
      checkedAt: settings.clock(),
    }
  } finally {
    await wire.close()
  }
}

function createWire(
  address: Address,
  settings: Settings,
  budget: RequestBudget,
): { wire: ProbeWire; secrets: Secrets } {
  const { timeoutMs, onExchange, signal, lookup, replicas, otherHeaders = {} } = settings
  const headers = { ...('url' in address ? address.headers : {}), ...settings.headers }
  for (const given of [headers, otherHeaders]) assertSendable(given)
  const secrets = secretsOf(address, { headers: [headers, otherHeaders], urls: replicas, publicWords: REPORT_WORDS })
  const tracer = new Tracer(onExchange, secrets)
  const common = { timeoutMs, tracer, signal }
  const wire =
    'url' in address
      ? new HttpWire({ ...common, url: new URL(address.url), headers, budget, lookup })
      : new StdioWire({ ...common, address })
  return { wire, secrets }
}

const MAX_STEPS = Object.keys(STEPS).length

interface Decided {
  readonly findings: Findings
  readonly decided: Decision
}

/** Takes the next step until the rules decide. */
async function decide(wire: ProbeWire, address: Address, settings: Settings): Promise<Decided> {
  const { order, methods, known } = settings
  const metadata = guessFromMetadata(metadataOf(address), known)
  const start: Findings = { transport: wire.transport, metadata }
  let findings: Findings = {
    ...start,
    ...(methods?.includes('program') && (await programOf(address, start, settings))),
  }
  for (let taken = 0; taken <= MAX_STEPS; taken++) {
    const next = nextStep(findings, order, methods)
    if ('decided' in next) return { findings, decided: next.decided }
    findings = { ...findings, ...(await STEPS[next.ask](wire, findings, settings)) }
  }
  throw new Error('A step of the probe added no finding.')
}

/**
 * What the files of a program say. They are read after the requests: npx has downloaded a package by then. If methods
 * are named, only if it is among them.
 */
async function programOf(
  address: Address,
  findings: Findings,
  { program, order, methods, signal }: Settings,
): Promise<Pick<Findings, 'program'>> {
  const isWanted = methods === undefined ? order === 'usual' : methods.includes('program')
  if ('url' in address || !program || !isWanted || findings.program !== undefined) return {}
  const located = await locateProgram(address)
  return located === undefined ? {} : { program: await readProgram(located, signal) }
}

/** A server from the list of known servers is decided without requests. Checks that were named need at least these steps. */
async function initializeIfNeeded(wire: ProbeWire, decisive: Findings, settings: Settings): Promise<Findings> {
  if (settings.methods !== undefined || decisive.initialize !== undefined) return decisive
  let findings = decisive
  for (const step of ['era', 'initialize', 'bareList'] as const) {
    const isOver = findings.era?.isUnreachable || findings.era?.era === 'modern'
    if (findings[step] === undefined && !isOver) {
      findings = { ...findings, ...(await STEPS[step](wire, findings, settings)) }
    }
  }
  return findings
}

/** The user's witness is asked in the usual order: the others take exactly their own steps. */
async function witnessed(
  wire: ProbeWire,
  findings: Findings,
  { witness, replicas, order, methods }: Settings,
): Promise<Pick<Findings, 'witness'>> {
  const isServed = isResult(findings.initialize) || findings.era?.era === 'modern'
  if (witness === undefined || order !== 'usual' || methods !== undefined || !isServed) return {}
  return { witness: await askWitness(wire, findings, { call: witness, replica: replicas[0] }) }
}

/** The total time of the checks if no check was named. */
const EVIDENCE_MS = 2_000

/** No checks run if methods were named, nor for a known server, unless checks were named. */
async function check(
  wire: ProbeWire,
  { findings, decided }: Decided,
  settings: Settings,
  budget: RequestBudget,
): Promise<{ readonly findings: Findings; readonly results: CheckResults }> {
  const { checks, methods, isExtended } = settings
  if (checks === 'none' || methods !== undefined) return { findings, results: { evidence: [], notAsked: [] } }
  const chosen = decided.decidedBy === 'metadata' && !isExtended ? [] : checks
  const context: ProbeCheckContext = { wire, findings, options: settings }
  // Checks that were not named do not delay a known verdict.
  const evidenceMs = isExtended ? undefined : EVIDENCE_MS + settings.listenMs
  const results = await runChecks(context, chosen, { budget, evidenceMs })
  // A server that refuses its list without a session gave it to a check that has one.
  return { findings: context.second === undefined ? findings : { ...findings, inSession: context.second }, results }
}

/** How long a stored verdict counts. */
export interface Freshness {
  /** How old a verdict may be, in milliseconds. @default 86400000, a day */
  maxAgeMs?: number
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}

/** UNKNOWN is never fresh, because the next attempt may decide; nor is anything that is not a verdict. */
export function isFresh(stored: Verdict, { maxAgeMs = DAY_MS, clock = Date.now }: Freshness = {}): boolean {
  const { state, checkedAt } = readStored(stored)
  if (typeof checkedAt !== 'number' || (state !== 'STATELESS' && state !== 'STATEFUL')) return false
  const ageMs = clock() - checkedAt
  return ageMs >= 0 && ageMs < maxAgeMs
}

/** A verdict, and how it differs from the stored one. */
export interface Rechecked {
  /** The stored verdict if it is fresh, else a new verdict. */
  readonly verdict: Verdict
  /** Whether the server was probed again. */
  readonly isNew: boolean
  /** The differences, as sentences. */
  readonly changes: readonly string[]
}

/** Probes again unless the stored verdict is fresh. A stored verdict about another target is ignored. */
export async function recheck(
  target: Target,
  stored: Verdict,
  options: ProbeOptions & Freshness = {},
): Promise<Rechecked> {
  const isOfThis = readStored(stored).target === nameOf(target)
  if (isOfThis && isFresh(stored, options)) return { verdict: stored, isNew: false, changes: [] }
  const verdict = await probe(target, options)
  return { verdict, isNew: true, changes: isOfThis ? changesBetween(readStored(stored), verdict) : [] }
}

/** A stored verdict may come from another version, or may have been edited. */
function readStored(stored: unknown): Json {
  return isObject(stored) ? stored : {}
}

/** UNKNOWN on either side is not reported as a change. */
function changesBetween(before: Json, after: Verdict): string[] {
  const { version } = isObject(before['server']) ? before['server'] : {}
  const facts = [
    ['state', before['state'], after.state],
    ['era', before['era'], after.era],
    ['version', version, after.server?.version],
  ] as const
  return facts.flatMap(([fact, was, is]) =>
    isReported(was) && isReported(is) && was !== is ? [`The ${fact} was ${plainLine(was)} and is ${is}.`] : [],
  )
}

function isReported(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && !/^unknown$/i.test(value)
}
