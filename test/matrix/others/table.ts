/** What was found of gateways of others, as text and as the part of docs/matrix.md between its marks. */
import { type FateCount, sumOf, type Trial } from './counts.ts'
import { OTHERS, type OtherGateway } from './gateways.ts'
import { FATES, type Fate } from './judge.ts'
import { OTHER_VICTIMS } from './trial.ts'

const FATE_NAMES: Readonly<Record<Fate, string>> = {
  right: 'its result',
  told: 'an error',
  silent: 'nothing until the time limit',
  bystander: 'an error, though only the other client was killed',
  wrong: 'a wrong result',
  doubled: 'done twice',
  crossed: "saw what is the other's",
}

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

Kills of the gateway, of the server and of a client, and what became of the calls of the callers that were left.

${table(
  ['gateway', 'kills', ...FATES.map((fate) => FATE_NAMES[fate]), 'started anew', 'processes left'],
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

/** One line for each pair of a client and a server. */
function failures(trial: Trial): string[] {
  const failed = trial.claimed.filter((name) => trial.cells[name] !== '')
  const byPair = Map.groupBy(failed, (name) => name.slice(0, name.indexOf(', ')))
  return [...byPair].map(
    ([pair, names]) => `- ${titleOf(trial)}, ${pair}: ${names.map((name) => name.slice(pair.length + 2)).join('; ')}`,
  )
}

function killRow(trial: Trial): string[] {
  const sum = sumOf(trial)
  const byVictim = OTHER_VICTIMS.map((victim) => trial.kills[victim]?.kills ?? 0)
  const counts = [...FATES.map((fate) => sum[fate]), trial.revived, trial.left]
  return [titleOf(trial), byVictim.join(' + '), ...counts.map(String)]
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
