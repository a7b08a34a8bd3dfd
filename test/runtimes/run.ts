/**
 * `npm run runtimes` installs the runtimes, runs every check in each, and prints the table; `-- --write` writes it into
 * docs/reference/runtimes.md, and `-- --only deno` runs those whose names have this text.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../scripts/repository.ts'
import { CHECKS } from './checks.ts'
import { startDriver } from './driver.ts'
import { inFolder, install, versionOf } from './installed.ts'
import { next } from './nextApp.ts'
import { BEFORE, bun, deno, lambda, node, type Place, type Served, workers } from './places.ts'
import { within } from './within.ts'

const { values } = parseArgs({ options: { write: { type: 'boolean' }, only: { type: 'string' } } })
await install()

const before = inFolder('node_modules/@cloudflare/workerd-linux-64/bin/workerd')
const own = (name: string): string =>
  (JSON.parse(readFileSync(join(root, `node_modules/${name}/package.json`), 'utf8')) as { version: string }).version
const NEW = `workerd ${own('workerd')}`
const OLD = `workerd ${versionOf('workerd-before')}`

const ALL: readonly Place[] = [
  node(`Node ${process.versions.node}`, process.execPath),
  node(`Node ${versionOf('node22')}`, inFolder('node_modules/node22/bin/node')),
  { ...deno(inFolder('node_modules/deno/deno')), name: `Deno ${versionOf('deno')}` },
  { ...bun, name: `Bun ${own('bun')}` },
  workers(`${NEW}, nodejs_compat`, '2026-10-20', true),
  workers(`${NEW}, without`, '2025-09-15', false),
  older(workers(`${OLD}, nodejs_compat`, '2025-09-15', true, before)),
  older(workers(`${OLD}, without`, '2025-09-15', false, before)),
  lambda('streaming'),
  lambda('buffered'),
  { ...next, name: `Next.js ${versionOf('next')}` },
]

function older(place: Place): Place {
  return { ...place, without: { ...BEFORE, ...place.without } }
}

type Outcome = 'yes' | { readonly no: string } | { readonly failed: string }

const places = ALL.filter(({ name }) => name.toLowerCase().includes(values.only?.toLowerCase() ?? ''))
const driver = await startDriver()
const served = new Map<Place, Served>()
const outcomes = new Map<Place, Map<string, Outcome>>()
try {
  for (const place of places) {
    served.set(place, await place.start(driver.given))
    console.error(`${place.name} serves.`)
  }
  for (const place of places) {
    outcomes.set(place, await checked(place))
    console.error(`${place.name} is checked.`)
  }
} finally {
  driver.close()
  for (const place of served.values()) await place.close()
}

async function checked(place: Place): Promise<Map<string, Outcome>> {
  const { url = () => '' } = served.get(place) ?? {}
  const others = [...served].filter(([other]) => other !== place).map(([, other]) => other.url)
  const found = new Map<string, Outcome>()
  for (const [name, check] of Object.entries(CHECKS)) {
    const no = place.without[name]
    found.set(name, no === undefined ? await outcomeOf(check({ url, others, token: driver.token })) : { no })
  }
  return found
}

async function outcomeOf(check: Promise<void>): Promise<Outcome> {
  try {
    await within(check, 'the end')
    return 'yes'
  } catch (error) {
    return { failed: String(error).split('\n', 1)[0] ?? '' }
  }
}

const reasons = [...new Set(places.flatMap(({ without }) => Object.values(without)))]
const failures: string[] = []

function cell(place: Place, check: string): string {
  const outcome = outcomes.get(place)?.get(check)
  if (outcome === 'yes') return 'yes'
  if (outcome !== undefined && 'no' in outcome) return `no (${reasons.indexOf(outcome.no) + 1})`
  failures.push(`${place.name}: ${check}: ${outcome?.failed}`)
  return 'FAILED'
}

const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`
const passed = (place: Place): string => {
  const all = [...(outcomes.get(place)?.values() ?? [])]
  return `${all.filter((outcome) => outcome === 'yes').length} of ${all.length}`
}
const table = [
  row('', ...places.map(({ name }) => name)),
  row('---', ...places.map(() => '---')),
  ...Object.keys(CHECKS).map((check) => row(check, ...places.map((place) => cell(place, check)))),
  row('**together**', ...places.map((place) => `**${passed(place)}**`)),
  '',
  ...reasons.map((reason, index) => `${index + 1}. ${reason[0]?.toUpperCase()}${reason.slice(1)}.`),
].join('\n')

console.log(table)
for (const failure of failures) console.error(failure)
if (failures.length > 0) process.exitCode = 1
else if (values.write === true) {
  const path = join(root, 'docs/reference/runtimes.md')
  const text = readFileSync(path, 'utf8')
  const [begin, end] = ['<!-- runtimes begin -->', '<!-- runtimes end -->']
  writeFileSync(path, `${text.split(begin, 1)[0]}${begin}\n\n${table}\n\n${end}${text.split(end)[1]}`)
}
process.exit()
