/** Every command of the program against a server that puts commands for terminals into all that it names. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKeyring, createSealer } from 'pannier/state'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { AuditChain } from '../../src/audit/chain.ts'
import { NASTY } from '../client/fixtures/servers/pannier.ts'
import { type SteeringServer, startSteeringServer } from '../client/fixtures/servers/steering.ts'
import { createProgram, everyCommand } from '../../src/cli/program.ts'
import { KEYS } from '../interop/fixtures/instances.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-plain-'))
const jar = join(folder, 'jar.sqlite')
const saved = join(folder, 'saved.json')
const gatewayFile = join(folder, 'mcp.json')
const auditLog = join(folder, `audit-${NASTY.replaceAll(/[/\0]/g, '')}.jsonl`)
let server: SteeringServer

beforeAll(async () => {
  const servers = { [NASTY]: { command: NASTY, args: [NASTY], pannier: { tools: { deny: [NASTY] } } } }
  writeFileSync(auditLog, `${new AuditChain(NASTY, createKeyring(KEYS), Date.now).head()}\n${NASTY}\n`)
  writeFileSync(gatewayFile, JSON.stringify({ mcpServers: servers }))
  server = await startSteeringServer()
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})
afterEach(() => void vi.restoreAllMocks())

const sealer = createSealer({ keyring: createKeyring(KEYS), audience: NASTY })
const binding = { principal: NASTY, method: NASTY, name: NASTY, argumentsDigest: NASTY, session: NASTY }
const NASTY_STATE = sealer.seal('request', binding, { id: NASTY, body: { x: { [NASTY]: NASTY } } })

/** TARGET stands for the server. */
const LINES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  tools: [['TARGET']],
  call: [
    ['TARGET', NASTY, '--allow-local', '--jar', jar, '--log-level', 'debug', '--verbose'],
    ['TARGET', 'task', '--detach'],
    ['TARGET', 'task'],
    ['TARGET', 'ask', '--yes'],
    ['TARGET', 'ask', '--suspend', saved],
    ['TARGET', 'ask'],
    ['TARGET', 'fail'],
    ['TARGET', 'refuse'],
    ['TARGET', 'unknown'],
    ['TARGET', 'ask', '--arg', `${NASTY}=other`],
  ],
  prompts: [['TARGET']],
  prompt: [
    ['TARGET', NASTY],
    ['TARGET', 'unknown'],
  ],
  resources: [['TARGET']],
  read: [['TARGET', 'any:thing']],
  resume: [[saved, '--yes']],
  'task get': [
    ['TARGET', 'done'],
    ['TARGET', 'asking'],
    ['TARGET', 'failed'],
  ],
  'task answer': [
    ['TARGET', 'asking', '--yes'],
    ['TARGET', 'asking', '--answer', 'unknown=1'],
  ],
  'task cancel': [
    ['TARGET', 'done'],
    ['TARGET', 'failed'],
  ],
  'task watch': [
    ['TARGET', 'done'],
    ['TARGET', 'asking'],
    ['TARGET', 'failed'],
  ],
  login: [['TARGET']],
  probe: [['TARGET'], ['TARGET', '--markdown'], ['TARGET', '--explain']],
  'jar list': [['--file', jar]],
  'jar show': [['--file', jar, '--values']],
  'jar clear': [['--file', jar, '--all']],
  'keys new': [[]],
  'keys rotate': [[]],
  'keys ids': [[]],
  'state open': [[NASTY_STATE]],
  questions: [['TARGET']],
  answer: [['TARGET', NASTY, '--answer', 'approve=true']],
  dev: [[join(folder, NASTY.replaceAll('\0', ''))]],
  'audit verify': [[auditLog]],
  'gateway check': [[gatewayFile], [join(folder, NASTY)]],
  'gateway accept': [
    ['--config', gatewayFile],
    ['--config', gatewayFile, NASTY],
    [NASTY, '--config', gatewayFile, 'x'],
  ],
  'gateway explain': [[gatewayFile, '--call', NASTY, JSON.stringify({ [NASTY]: NASTY })]],
}

/** How a command is told to write JSON; undefined where it cannot. */
function jsonOption(command: string): readonly string[] | undefined {
  if (/^(keys|gateway|dev)/.test(command)) return undefined
  return command === 'probe' || /^(audit|jar|state) /.test(command) ? ['--json'] : ['--output', 'json']
}

async function run(command: string, line: readonly string[]) {
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)]
  vi.stubEnv('PANNIER_KEYS', KEYS)
  const args = line.map((word) => (word === 'TARGET' ? server.url : word))
  await createProgram(undefined).parseAsync([...command.split(' '), ...args], { from: 'user' })
  process.exitCode = undefined
  return { stdout: stdout.join(''), stderr: stderr.join('') }
}

function capture(stream: NodeJS.WriteStream): readonly string[] {
  const chunks: string[] = []
  vi.spyOn(stream, 'write').mockImplementation((chunk) => {
    chunks.push(String(chunk))
    return true
  })
  return chunks
}

const STEERING = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/u

describe.each(Object.entries(LINES))('pannier %s', (command, lines) => {
  test('shows nothing that a terminal obeys', async () => {
    for (const line of lines) {
      const { stdout, stderr } = await run(command, line)
      expect(`${stdout}${stderr}`, line.join(' ')).not.toMatch(STEERING)
      expect(`${stdout}${stderr}`, line.join(' ')).not.toBe('')
    }
  })

  test('writes JSON that holds everything', async () => {
    const option = jsonOption(command)
    for (const line of option === undefined ? [] : lines.filter((one) => !one.some((word) => TEXT_ONLY.has(word)))) {
      if (command === 'resume') await run('call', ['TARGET', 'ask', '--suspend', saved])
      const { stdout, stderr } = await run(command, [...line, ...(option ?? [])])
      expect(`${stdout}${stderr}`, line.join(' ')).not.toMatch(STEERING)
      if (stdout !== '') JSON.parse(stdout)
    }
  })
})

const TEXT_ONLY: ReadonlySet<string> = new Set(['--markdown', '--explain'])

test('an id is printed as one line, and as it is in JSON', async () => {
  const text = await run('call', ['TARGET', 'task', '--detach'])
  expect(text.stdout).toMatch(/^a\ufffd\[2J.*end\n$/)
  expect(text.stderr).toContain('--output json has it exactly')
  const { stdout } = await run('call', ['TARGET', 'task', '--detach', '--output', 'json'])
  expect(JSON.parse(stdout)).toMatchObject({ task: { taskId: NASTY } })
})

test('no command is left out', () => {
  const leaves = everyCommand(createProgram(undefined)).filter((command) => command.commands.length === 0)
  const names = leaves.map((leaf) => (leaf.parent?.parent ? `${leaf.parent.name()} ${leaf.name()}` : leaf.name()))
  expect(Object.keys(LINES).toSorted()).toEqual(names.toSorted())
})
