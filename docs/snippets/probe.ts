/** The code of docs/how-to/probe.md. */
// #region imports
import { parseArgs } from 'node:util'
import type { Target } from 'pannier/client'
import { isFresh, probe, recheck, type Verdict } from 'pannier/probe'
import { createServer, type Server } from 'pannier/server'
// #endregion imports

// #region verdict
export async function judge(target: Target): Promise<string[]> {
  const { state, message, confidence, evidence } = await probe(target)
  const heading = `${state}, ${Math.round(confidence * 100)} % sure. ${message}`
  return [heading, ...evidence.map(({ check, sentence }) => `${check}: ${sentence}`)]
}
// #endregion verdict

// #region thorough
export function lookCloser(url: string, replica: string, tool: string): Promise<Verdict> {
  return probe(url, {
    headers: { authorization: `Bearer ${process.env['TOKEN'] ?? ''}` },
    checks: 'all',
    replicas: [replica],
    call: { name: tool }, // may be called; no other tool ever is
  })
}
// #endregion thorough

// #region known
export function withOwnKnowledge(target: Target): Promise<Verdict> {
  const known = [{ match: 'localhost', state: 'STATEFUL', because: 'Mine keeps open orders in memory.' }] as const
  return probe(target, { known })
}
// #endregion known

// #region kept
/** Probes a server again once a day, and reports changes. */
export async function keepUp(target: Target, kept: Verdict, report: (change: string) => void): Promise<Verdict> {
  if (isFresh(kept)) return kept
  const { verdict, changes } = await recheck(target, kept)
  for (const change of changes) report(change)
  return verdict
}
// #endregion kept

// #region flags
/** A server that can be started with --stateless or --stateful. */
export function serverWith(args: string[]): Server {
  const flag = { type: 'boolean' } as const
  const { values } = parseArgs({ args, options: { stateless: flag, stateful: flag } })
  const architecture = values.stateful && !values.stateless ? 'stateful' : 'stateless'
  const server = createServer({ name: 'counter', version: '1.0.0', architecture })
  let count = 0 // in this process: only a stateful server may keep it
  return server.tool('count', { description: 'Counts.' }, () =>
    architecture === 'stateful' ? `Counted ${++count}.` : 'A stateless server does not count.',
  )
}
// #endregion flags
