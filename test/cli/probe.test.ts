/** `pannier probe`: its exit codes as processes, and then many command lines in one. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Verdict } from 'pannier/probe'
import { afterAll, describe, expect, test } from 'vitest'
import { pannier, ProgramHost } from './fixtures/program.ts'
import { proves } from '../proves.ts'
import { json, startHost } from '../probe/fixtures/host.ts'
import { plainAnswer } from '../probe/fixtures/legacyAnswers.ts'
import { startSessionHost } from '../probe/fixtures/sessionHost.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-probe-'))
const host = new ProgramHost()
const hosted = host.run.bind(host)
afterAll(() => {
  host.close()
  rmSync(folder, { recursive: true, force: true })
})

const programs = fileURLToPath(new URL('../probe/programs/', import.meta.url))
const stateless = () => startHost(({ message }, res) => json(res, plainAnswer(message)))

function fileWith(name: string, content: object): string {
  const path = join(folder, name)
  writeFileSync(path, JSON.stringify(content))
  return path
}

proves(
  'DT-9 DT-18',
  'the exit code is 0, 1 for UNKNOWN and 2 where nothing ran; the accuracy of methods is told',
  async () => {
    const [one, two] = await Promise.all([stateless(), startSessionHost()])
    const nobody = 'http://127.0.0.1:1/mcp'
    const lines = [[one.url], [two.url], [nobody], ['--', 'no-such-program-here'], [one.url, nobody]]
    const ran = await Promise.all(lines.map((args) => pannier(['probe', ...args])))
    expect(ran.map(({ status }) => status)).toEqual([0, 0, 1, 2, 1])
    const words = ran.slice(0, 3).map(({ stdout }) => stdout.split(' ')[0])
    expect(words).toEqual(['STATELESS', 'STATEFUL', 'UNKNOWN'])
    expect(ran[3]).toMatchObject({
      stdout: '',
      stderr: expect.stringMatching(/^error: The server's program could not be started: /),
    })
    expect(ran[1]?.stdout).toContain(`
  1 sequential connection test  STATEFUL   99 %       right on 99 % of servers
  2 capability score            UNKNOWN    score 0.5  right on 70 % of servers
  3 metadata heuristics         STATELESS  80 %       right on 50 % of servers
`)
  },
)

describe('all servers of a file', () => {
  test('are probed each by itself, with one table and the worst exit code', async () => {
    const [one, two] = await Promise.all([stateless(), startSessionHost()])
    const file = fileWith('mcp.json', {
      mcpServers: {
        alone: { url: one.url, headers: { Authorization: 'Bearer in-the-file' } },
        'in sessions': { type: 'http', url: two.url },
        old: { type: 'sse', url: 'http://127.0.0.1:1/sse' },
        serena: { command: process.execPath, args: [join(programs, 'serenaStyle.ts')] },
        broken: { url: '${NO_SUCH_VARIABLE}' },
      },
    })
    const { stdout, status } = await hosted(['probe', '--timeout', '30', file])
    const lines = stdout.split('\n').map((line) => line.split(/ {2,}/).slice(0, 2))
    expect(lines.slice(1, 6)).toEqual([
      ['alone', 'STATELESS'],
      ['in sessions', 'STATEFUL'],
      ['old', 'UNKNOWN'],
      ['serena', 'STATEFUL'],
      ['broken', 'not probed'],
    ])
    expect(status).toBe(2)
    expect(one.seen[0]?.headers.authorization).toBe('Bearer in-the-file')
    expect(two.seen.every(({ headers }) => headers.authorization === undefined)).toBe(true)
  })

  proves('DT-30 DT-14 DT-15', 'are guessed from type and container alone, with a level of confidence', async () => {
    const { url } = await startSessionHost()
    const servers = {
      github: { type: 'stdio', container: 'ghcr.io/github/github-mcp-server:latest' },
      serena: { type: 'http', url, container: 'serena-mcp-server' },
      web: { type: 'http', url },
      program: { type: 'stdio', command: 'my-server' },
      typescript: { container: 'my-typescript-server' },
      python: { container: 'python-local' },
    }
    const file = fileWith('containers.json', { servers })
    const { stdout } = await hosted(['probe', '--json', '--method', '3', '--check', 'none', file])
    expect(JSON.parse(stdout)).toMatchObject([
      { name: 'github', requests: 0, methods: { metadata: { state: 'STATELESS', confidence: 0.95, level: 'high' } } },
      { name: 'serena', requests: 0, methods: { metadata: { state: 'STATEFUL', confidence: 0.95, level: 'high' } } },
      { name: 'web', requests: 0, methods: { metadata: { state: 'STATELESS', confidence: 0.8, level: 'medium' } } },
      { name: 'program', requests: 0, methods: { metadata: { state: 'STATEFUL', confidence: 0.7, level: 'medium' } } },
      {
        name: 'typescript',
        requests: 0,
        methods: { metadata: { state: 'STATELESS', confidence: 0.6, level: 'medium' } },
      },
      { name: 'python', requests: 0, methods: { metadata: { state: 'STATEFUL', confidence: 0.6, level: 'medium' } } },
    ])
  })

  test('take as long as the slowest of them, and not as all of them', async () => {
    const slow = await Promise.all(
      Array.from({ length: 10 }, () =>
        startHost(({ verb, message }, res) => {
          setTimeout(() => (verb === 'POST' ? json(res, plainAnswer(message)) : res.writeHead(405).end()), 100)
        }),
      ),
    )
    const servers = Object.fromEntries(slow.map(({ url }, n) => [`s${n}`, { url }]))
    const { stdout, status } = await hosted(['probe', '--json', fileWith('ten.json', { servers })])
    const verdicts = JSON.parse(stdout) as (Verdict & { name: string })[]
    expect(status).toBe(0)
    expect(verdicts.map(({ name }) => name)).toEqual(Object.keys(servers))
    const began = Math.min(...verdicts.map(({ checkedAt, durationMs }) => checkedAt - durationMs))
    const tookMs = Math.max(...verdicts.map(({ checkedAt }) => checkedAt)) - began
    expect(tookMs).toBeLessThanOrEqual(Math.max(...verdicts.map(({ durationMs }) => durationMs)) + 3_000)
  })

  test('do not get a header that was meant for one', async () => {
    const { url, seen } = await stateless()
    const file = fileWith('two.json', { servers: { a: { url }, b: { url } } })
    expect(await hosted(['probe', '--header', 'Authorization: Bearer x', file])).toEqual({
      status: 2,
      stdout: '',
      stderr: 'error: --header is for one server; name it, as in mcp.json#name. Headers can stand in the file.\n',
    })
    expect(seen).toEqual([])
  })
})

test('--explain shows every message on stderr, without the secrets', async () => {
  const host = await startSessionHost()
  const target = `${fileWith('one.json', { servers: { a: { url: host.url } } })}#a`
  const args = ['probe', '--explain', '--markdown', '--method', '1', '--bearer-env', 'TOKEN', target]
  const { stdout, stderr } = await hosted(args, { env: { TOKEN: 'secret-token' } })
  expect(stdout).toContain(
    ' | **STATEFUL** | 99 % | needs a session (95 %) | not known | sessions | method 1, sequential connection test | ',
  )
  const steps = stderr.split('\n').filter((line) => /^[<>]/.test(line))
  expect(steps).toEqual([
    `> 1 POST ${host.url}`,
    '< 1 HTTP 200',
    `> 2 POST ${host.url}`,
    '< 2 HTTP 400',
    `> 3 DELETE ${host.url}`,
    '< 3 HTTP 200',
  ])
  expect(stderr).toContain('    authorization: [hidden]\n')
  expect(stderr).toContain('    mcp-session-id: [hidden, 36 characters]\n')
  expect(stderr).toContain('"method":"initialize"')
  const session = String(host.seen[2]?.headers['mcp-session-id'])
  for (const secret of ['secret-token', session]) expect(stdout + stderr).not.toContain(secret)
  expect(host.seen[0]?.headers.authorization).toBe('Bearer secret-token')
})

test('order, known servers, replicas and checks reach the probe', async () => {
  const [host, other] = await Promise.all([startSessionHost(), startSessionHost()])
  const known = fileWith('known.json', [{ match: '127.0.0.1', state: 'STATELESS', because: 'I wrote it.' }])
  const verdictOf = async (...args: string[]) =>
    JSON.parse((await hosted(['probe', '--json', ...args, host.url])).stdout) as Verdict
  const [cheap, checked] = await Promise.all([
    verdictOf('--known', known, '--order', 'cheap-first'),
    verdictOf('--check', 'replica', '--check', 'invented-session', '--replica', other.url, '--timeout', '5'),
  ])
  expect(cheap).toMatchObject({ state: 'STATELESS', requests: 0, message: 'It is known as 127.0.0.1. I wrote it.' })
  const asked = checked?.evidence.map(({ check }) => check)
  expect(asked).toEqual(['era', 'session-issued', 'session-required', 'replica', 'invented-session'])
})

test('what clients of both eras can do through a gateway is a line, and whole with --explain, --json and --markdown', async () => {
  const host = await startSessionHost()
  const [text, explained, json, markdown] = await Promise.all(
    [[], ['--explain'], ['--json'], ['--markdown']].map(
      async (args) => (await hosted(['probe', ...args, host.url])).stdout,
    ),
  )
  const sentence = 'Clients of the session era: everything, but lists and updates'
  expect(text).toMatch(/^clients +through a gateway: limits in lists, memory \(stateless\)$/m)
  expect(text).not.toContain(sentence)
  expect(explained).toContain(`\nThrough a gateway:\n`)
  expect(explained).toContain(sentence)
  expect((JSON.parse(json ?? '') as Verdict).cells?.[1]).toMatchObject({
    client: 'legacy',
    server: 'legacy',
    works: 'limited',
    limits: [{ kind: 'lists' }],
    sentence: expect.stringContaining(sentence),
  })
  expect(markdown).toContain(`through a gateway: ${sentence}`)
  const shared = await stateless()
  expect((await hosted(['probe', shared.url])).stdout).toMatch(/^clients +through a gateway: both eras$/m)
})
