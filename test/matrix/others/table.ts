/** What was found of gateways of others, as text and as the part of docs/reference/matrix.md between its marks. */
import { emptyFates, type FateCount, sumOf, type Trial } from './counts.ts'
import { OTHERS, type OtherGateway } from './gateways.ts'
import { OTHER_VICTIMS } from './trial.ts'

export function trialText(trial: Trial): string {
  const { name, version, kills, told, revived, left, seconds } = trial
  return [
    `\n${name} ${version}, ${seconds} s`,
    ...aloneRow(trial)
      .slice(2)
      .map((cell) => `  ${cell}`),
    ...Object.entries(kills).map(([victim, count]) => `  ${victim}: ${countText(count)}`),
    `  started anew: ${revived}, processes left: ${left}`,
    ...Object.entries(told).map(([sentence, times]) => `  ${times} × ${sentence}`),
  ].join('\n')
}

export function othersPage(trials: readonly Trial[]): string {
  return `### Left alone

${table(
  ['gateway', 'version', 'what it says it does', 'named, and works', 'not named', 'two behind a balancer'],
  trials.map(aloneRow),
)}

Named, and does not work:

${trials.flatMap(failures).join('\n') || 'Nothing.'}

### Killed

Outcomes of calls: their result / an error / nothing until the client's time limit. If the gateway itself was killed, the outcome depends on the client, and on whether its stream can be resumed.

${table(
  [
    'gateway',
    'kills',
    'the gateway killed',
    'the server killed',
    'the other client killed',
    'wrong results',
    'done twice',
    "saw what is the other's",
    'started anew',
    'processes left',
  ],
  trials.map(killRow),
)}
`
}

function gatewayOf({ name }: Trial): OtherGateway {
  const found = OTHERS.find((each) => each.name === name)
  if (found === undefined) throw new Error(`There is no gateway "${name}".`)
  return found
}

function titleOf(trial: Trial): string {
  return gatewayOf(trial).package ?? trial.name
}

function aloneRow(trial: Trial): string[] {
  const names = Object.keys(trial.cells)
  const claimed = names.filter((name) => trial.claimed.includes(name))
  const beside = names.filter((name) => !trial.claimed.includes(name))
  const { says, claimsTwo, command } = gatewayOf(trial)
  const two = command.isPerClient ? '–' : `${works(trial.two)}${claimsTwo ? '' : ', not claimed'}`
  return [
    titleOf(trial),
    trial.version,
    says,
    works(pick(trial.cells, claimed)),
    beside.length === 0 ? '–' : works(pick(trial.cells, beside)),
    two,
  ]
}

function works(cells: Readonly<Record<string, string>>): string {
  const all = Object.values(cells)
  return `${all.filter((why) => why === '').length} of ${all.length}`
}

function pick(cells: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, cells[name] ?? '']))
}

/** What does not work, by behaviour, with its pairs of a client and a server. */
function failures(trial: Trial): string[] {
  const failed = trial.claimed.filter((name) => trial.cells[name] !== '')
  if (failed.length === 0) return []
  const byBehaviour = Map.groupBy(failed, (name) => name.slice(name.indexOf(', ') + 2))
  const lists = [...byBehaviour].map(
    ([behaviour, names]) => `${behaviour} (${names.map((name) => name.slice(0, name.indexOf(', '))).join(', ')})`,
  )
  const { notes } = gatewayOf(trial)
  return [`- ${titleOf(trial)}: ${lists.join('; ')}.${notes === undefined ? '' : ` ${notes}`}`]
}

function killRow(trial: Trial): string[] {
  const { kills, wrong, doubled, crossed } = sumOf(trial)
  const ends = OTHER_VICTIMS.map((victim) => {
    const { right, told, bystander, silent } = trial.kills[victim] ?? emptyFates()
    return `${right} / ${told + bystander} / ${silent}`
  })
  return [titleOf(trial), String(kills), ...ends, ...[wrong, doubled, crossed, trial.revived, trial.left].map(String)]
}

function countText(count: FateCount): string {
  return Object.entries(count)
    .filter(([, times]) => times > 0)
    .map(([fate, times]) => `${times} ${fate}`)
    .join(', ')
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
  return [line(head), `|${'---|'.repeat(head.length)}`, ...rows.map(line)].join('\n')
}
