/** What became of the servers, as a table. */
import type { CallOutcome } from './clients.ts'
import type { ServedServer } from './serve.ts'

const WORDS: Readonly<Record<CallOutcome['kind'], string>> = {
  answer: 'answered',
  error: 'error of the tool',
  refused: 'refused',
  none: 'no answer',
}

const HEADING = [
  'server',
  'package',
  'start',
  'revision',
  'verdict',
  'served by',
  'tools',
  'without',
  'v1',
  'v2',
  'Inspector',
]

export function gatewayRows(served: readonly ServedServer[]): readonly (readonly string[])[] {
  return [HEADING, ...served.map(rowOf)]
}

function rowOf({ server, report, isListed, direct, calls }: ServedServer): readonly string[] {
  const { condition = 'unknown', revision = '', state = '', isShared, offers } = report ?? {}
  const outcomeOf = ({ kind }: CallOutcome, without: CallOutcome): string =>
    kind === without.kind ? WORDS[kind] : `**${WORDS[kind]}**`
  return [
    server.name,
    `${server.package} ${server.version}`,
    condition === 'up' ? 'up' : `**${condition}**`,
    revision,
    state.toLowerCase(),
    'path' in server.launch
      ? isShared
        ? 'a shared connection'
        : 'a session each'
      : isShared
        ? 'shared processes'
        : 'a process each',
    isListed ? String(offers?.tools ?? 0) : '**not listed**',
    directText(direct),
    outcomeOf(calls.v1, direct.v1),
    outcomeOf(calls.v2, direct.v2),
    outcomeOf(calls.Inspector, direct.v1),
  ]
}

/** One word where both clients of the SDK get the same. */
function directText({ v1, v2 }: ServedServer['direct']): string {
  return v1.kind === v2.kind ? WORDS[v1.kind] : `v1: ${WORDS[v1.kind]}, v2: ${WORDS[v2.kind]}`
}

export function summaryOf(
  served: readonly ServedServer[],
  { startSeconds, listed }: { readonly startSeconds: number; readonly listed: number },
): string {
  const packages = new Set(served.map(({ server }) => server.package)).size
  const right = served.filter(({ isRight }) => isRight).length
  const up = served.filter(({ report }) => report?.condition === 'up').length
  return `${served.length} servers of ${packages} packages: ${up} up and judged after ${startSeconds} s, ${listed} tools at /mcp; ${right} answered all three clients as they answer without a gateway.`
}
