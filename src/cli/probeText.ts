/** Verdicts as people read them at a terminal. */
import { plainLine } from '../client/index.ts'
import { METHODS, type MethodResult, type Verdict } from '../probe/index.ts'
import { columns } from './columns.ts'
import type { Probed } from './probed.ts'

/** All about one server. The first word is the verdict, so that scripts can look for it. */
export function probeText(verdict: Verdict): string {
  const { state, target, message, evidence, notAsked } = verdict
  const checks = evidence.map(({ check, points, sentence }) => [
    `  ${check}`,
    points === 'UNKNOWN' ? '' : points,
    sentence,
  ])
  return [
    `${state}  ${plainLine(target)}`,
    message,
    '',
    columns(factsOf(verdict)),
    '',
    'Methods:',
    columns(methodRows(verdict)),
    ...(checks.length === 0 ? [] : ['', 'Evidence:', columns(checks)]),
    ...(notAsked.length === 0 ? [] : ['', `Not asked, to send few requests: ${notAsked.join(', ')} (see --check).`]),
  ].join('\n')
}

/** A line for each server. */
export function probeTable(all: readonly Probed[]): string {
  const rows = all.map((one) => {
    const name = plainLine(one.name, 40)
    if (!('verdict' in one)) return [name, 'not probed', '', '', '', plainLine(one.failure.text, 200)]
    const { state, message } = one.verdict
    return [
      name,
      state,
      percent(one.verdict.confidence),
      eraText(one.verdict),
      decidedText(one.verdict),
      plainLine(message, 200),
    ]
  })
  return columns([['SERVER', 'VERDICT', 'SURE', 'ERA', 'DECIDED BY', 'WHY'], ...rows])
}

function factsOf(verdict: Verdict): readonly (readonly string[])[] {
  const { confidence, level, versions, server, transport, requests, durationMs } = verdict
  const asked = transport === 'http' ? `${requests} request${requests === 1 ? '' : 's'}` : 'a process for each question'
  return [
    ['decided by', `${decidedText(verdict)}; ${percent(confidence)} sure (${level})`],
    ['era', versions.length === 0 ? eraText(verdict) : `${eraText(verdict)}: ${versions.join(', ')}`],
    ...(server === undefined ? [] : [['server', `${server.name} ${server.version}`.trim()]]),
    ['asked', `${asked}, ${durationMs} ms`],
  ]
}

function methodRows({ methods }: Verdict): readonly (readonly string[])[] {
  return Object.values(METHODS).map(({ number, title, accuracy }) => {
    const found = Object.values(methods).find(({ method }) => METHODS[method].number === number)
    const known = `known to be right in ${percent(accuracy)} of cases`
    return [`  ${number} ${title}`, found?.state ?? 'not used', found === undefined ? '' : sureText(found), known]
  })
}

function sureText({ method, confidence, details }: MethodResult): string {
  return method === 'capabilities' ? `score ${String(details['score'])}` : percent(confidence)
}

export function decidedText({ decidedBy }: Verdict): string {
  if (decidedBy === 'sequential' || decidedBy === 'capabilities' || decidedBy === 'metadata') {
    const { number, title } = METHODS[decidedBy]
    return `method ${number}, ${title}`
  }
  return OTHERS[decidedBy]
}

const OTHERS = {
  era: 'its era',
  transport: 'its transport',
  control: 'the test with and without initialize',
  declaration: 'what it declares',
  nothing: 'nothing',
} as const

export function eraText({ era }: Verdict): string {
  return era === 'modern' ? 'stateless' : era === 'legacy' ? 'sessions' : 'unknown'
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
