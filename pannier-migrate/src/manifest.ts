/** package.json: the dependencies that a moved server needs. Its other text stays as it is. */
import type { Run } from './run.ts'

const PANNIER_RANGE = '^0.1.0'
const CLIENT_RANGE = '~2.4.0'
const ZOD_RANGE = '^4.2.0'
const GROUPS = ['dependencies', 'devDependencies', 'peerDependencies', 'optionalDependencies']

/** The text of package.json, given the modules that all sources import afterwards. */
export function newManifest(run: Run, imported: ReadonlySet<string>): string {
  const { text, json } = run.project.manifest
  const changed = structuredClone(json) as Record<string, Record<string, string>>
  const own = (changed['dependencies'] ??= {})
  const used = (name: string): boolean => [...imported].some((one) => one === name || one.startsWith(`${name}/`))
  for (const name of [
    '@modelcontextprotocol/sdk',
    '@modelcontextprotocol/server',
    '@modelcontextprotocol/node',
    'fastmcp',
  ]) {
    if (!used(name)) for (const group of GROUPS) delete changed[group]?.[name]
  }
  const wanted: [string, string][] = [['pannier', PANNIER_RANGE]]
  if (used('@modelcontextprotocol/client')) wanted.push(['@modelcontextprotocol/client', CLIENT_RANGE])
  if (used('zod')) wanted.push(['zod', ZOD_RANGE])
  for (const [name, range] of wanted) {
    if (!used(name)) continue
    const group = GROUPS.map((one) => changed[one]).find((one) => one?.[name] !== undefined)
    const known = group?.[name]
    if (known === undefined) own[name] = range
    else if (name === 'zod' && group !== undefined && isOldZod(known)) {
      group[name] = range
      noteZod(run, text, known)
    }
  }
  changed['dependencies'] = Object.fromEntries(Object.entries(own).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  noteModules(run, text, json)
  const indent = /\n([ \t]+)"/.exec(text)?.[1] ?? '  '
  return JSON.stringify(changed, null, indent) + (text.endsWith('\n') ? '\n' : '')
}

/** Schemas describe themselves from zod 4.2 on. */
function isOldZod(range: string): boolean {
  const [major = 0, minor = 0] = (/\d+(\.\d+)?/.exec(range)?.[0] ?? '4.2').split('.').map(Number)
  return major < 4 || (major === 4 && minor < 2)
}

function noteZod(run: Run, text: string, known: string): void {
  if (!/\b3(\.|$)/.test(known)) return
  const line = text.slice(0, text.indexOf('"zod"')).split('\n').length
  run.project.findings.add(
    { path: 'package.json', line },
    `zod ${known}`,
    'Pannier reads schemas of zod 4.2 and later, so the range was raised',
    'see the migration guide of zod 4',
  )
}

function noteModules(run: Run, text: string, json: Readonly<Record<string, unknown>>): void {
  if (json['type'] === 'module') return
  const line = text.includes('"type"') ? text.slice(0, text.indexOf('"type"')).split('\n').length : 1
  run.project.findings.add(
    { path: 'package.json', line },
    'CommonJS',
    'Pannier is a package of modules',
    'set "type": "module", or load it on Node 22.18 or newer, where require takes modules',
  )
}
