/** Tells whether a server needs its sessions: asks as little as decides it, checks what else can be seen, cleans up. */
import { type Address, addressOf, nameOf, type Target } from '../client/index.ts'
import { Allowance } from './budget.ts'
import { type Checked, runChecks } from './checks/runChecks.ts'
import type { Decision } from './decision/result.ts'
import { Recorder } from './wire/trace.ts'
import type { Findings } from './decision/findings.ts'
import { type Secrets, secretsOf } from './secrets.ts'
import { guessFromMetadata, metadataOf } from './methods/metadata.ts'
import { assertSendable } from './wire/headers.ts'
import { HttpWire } from './wire/http.ts'
import { type ProbeOptions, type Settings, settle } from './options.ts'
import { report, type Verdict } from './report/report.ts'
import { STEPS } from './decision/steps.ts'
import { StdioWire } from './wire/stdio.ts'
import { nextOf } from './decision/verdict.ts'
import type { Wire } from './wire/connection.ts'

export async function probe(target: Target, options: ProbeOptions = {}): Promise<Verdict> {
  const settings = settle(options)
  settings.signal?.throwIfAborted()
  const address = await addressOf(target, options.env, { sse: true })
  const started = performance.now()
  const allowance = new Allowance(settings.maxRequests)
  const { wire, secrets } = openWire(address, settings, allowance)
  try {
    const { findings: decisive, decided } = await decide(wire, address, settings)
    const findings = settings.asksMore ? await prepare(wire, decisive, settings) : decisive
    const checked = await check(wire, { findings, decided }, settings, allowance)
    await wire.close()
    return {
      ...secrets.hideIn(report(findings, decided, checked)),
      target: nameOf(target),
      requests: allowance.used,
      durationMs: Math.round(performance.now() - started),
      checkedAt: settings.clock(),
    }
  } finally {
    await wire.close()
  }
}

function openWire(address: Address, settings: Settings, allowance: Allowance): { wire: Wire; secrets: Secrets } {
  const { timeoutMs, onExchange, signal, lookup, replicas, otherHeaders = {} } = settings
  const headers = { ...('url' in address ? address.headers : {}), ...settings.headers }
  for (const given of [headers, otherHeaders]) assertSendable(given)
  const secrets = secretsOf(address, { headers: [headers, otherHeaders], urls: replicas })
  const recorder = new Recorder(onExchange, secrets)
  const common = { timeoutMs, recorder, signal }
  const wire =
    'url' in address
      ? new HttpWire({ ...common, url: new URL(address.url), headers, allowance, lookup })
      : new StdioWire({ ...common, address })
  return { wire, secrets }
}

const MAX_STEPS = Object.keys(STEPS).length

interface Decided {
  readonly findings: Findings
  readonly decided: Decision
}

/** Takes one step after another until something is decided. */
async function decide(wire: Wire, address: Address, settings: Settings): Promise<Decided> {
  const { order, methods, known } = settings
  const metadata = guessFromMetadata(metadataOf(address), known)
  let findings: Findings = { transport: wire.transport, metadata }
  for (let taken = 0; taken <= MAX_STEPS; taken++) {
    const next = nextOf(findings, order, methods)
    if ('decided' in next) return { findings, decided: next.decided }
    findings = { ...findings, ...(await STEPS[next.ask](wire, findings, settings)) }
  }
  throw new Error('A step of the probe has left nothing behind.')
}

/** A known server may not have been asked. What somebody wants to see of it begins with this. */
async function prepare(wire: Wire, decisive: Findings, settings: Settings): Promise<Findings> {
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

/** Where methods are named, nothing else is done; and a known server is asked no more, unless somebody wants to see it. */
async function check(
  wire: Wire,
  { findings, decided }: Decided,
  settings: Settings,
  allowance: Allowance,
): Promise<Checked> {
  const { checks, methods, asksMore } = settings
  if (checks === 'none' || methods !== undefined) return { evidence: [], notAsked: [] }
  const chosen = decided.decidedBy === 'metadata' && !asksMore ? [] : checks
  return runChecks({ wire, findings, options: settings }, chosen, allowance)
}
