import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CHECKS, probe } from 'pannier/probe'
import { afterAll, describe, expect, test } from 'vitest'
import { judge, keepUp, lookCloser, withOwnKnowledge } from '../../docs/snippets/probe.ts'
import { readText, root } from '../../scripts/repository.ts'
import { json, startHost } from '../probe/fixtures/host.ts'
import { plainAnswer } from '../probe/fixtures/legacyAnswers.ts'
import { startSessionHost } from '../probe/fixtures/sessionHost.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-docs-probe-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const guide = readText('docs/how-to/probe.md')
const stateless = () => startHost(({ message }, res) => json(res, plainAnswer(message)))

describe('docs/snippets/probe.ts', () => {
  test('a verdict is told with its evidence', async () => {
    const { url } = await startSessionHost()
    const [heading, ...evidence] = await judge(url)
    expect(heading).toMatch(/^STATEFUL, 95 % sure\. It wants a session: /)
    expect(evidence).toContain('session-issued: initialize gives out a session id.')
  })

  test('a closer look asks replicas and calls the one tool that is named', async () => {
    const known = new Set<string>()
    const [host, replica] = await Promise.all([startSessionHost({ known }), startSessionHost({ known })])
    const { evidence } = await lookCloser(host.url, replica.url, 'a')
    expect(evidence.map(({ check }) => check)).toEqual(
      expect.arrayContaining(['replica', 'bare-call', 'invented-session']),
    )
  })

  test('what the user knows decides', async () => {
    const { url } = await stateless()
    expect(await withOwnKnowledge(url.replace('127.0.0.1', 'localhost'))).toMatchObject({
      state: 'STATEFUL',
      decidedBy: 'metadata',
    })
  })

  test('a verdict is kept while it is fresh, and what has changed is told', async () => {
    const { url } = await stateless()
    const now = await probe(url)
    const told: string[] = []
    expect(await keepUp(url, now, (change) => told.push(change))).toBe(now)
    const old = { ...now, state: 'STATEFUL', checkedAt: 0 } as const
    expect(await keepUp(url, old, (change) => told.push(change))).toMatchObject({ state: 'STATELESS' })
    expect(told).toEqual(['The state was STATEFUL and is STATELESS.'])
  })
})

describe('the pages about the probe', () => {
  test('have a row for each check', () => {
    const page = readText('docs/reference/probe.md')
    const [, table = ''] = page.split('### The checks\n')
    const rows = [...(table.split(/^#/m)[0] ?? '').matchAll(/^\| `([\w-]+)`/gm)].map(([, name]) => name)
    expect(new Set(rows)).toEqual(new Set(CHECKS))
    expect(rows).toHaveLength(CHECKS.length)
  })

  /** Runs a line of the guide in a shell, with `pannier` as it is here and another address. */
  async function shell(line: string): Promise<number> {
    const program = `"${process.execPath}" --conditions=pannier-source src/cli/main.ts`
    const child = spawn('bash', ['-c', line.replace('pannier', program)], { cwd: root, stdio: 'ignore' })
    const [code] = (await once(child, 'exit')) as [number]
    return code
  }

  test('have a line for a pipeline that fails when a server became stateful', async () => {
    const [, line = ''] = /^npx (pannier probe \S+ \| grep .*)$/m.exec(guide) ?? []
    const [before, after] = await Promise.all([stateless(), startSessionHost()])
    const codes = await Promise.all([before.url, after.url].map((url) => shell(line.replace(/https:\S+/, url))))
    expect(codes).toEqual([0, 1])
  })

  test('have another that fails when one of a file did, or when the file is not there', async () => {
    const [, line = ''] = /^npx (pannier probe mcp\.json \| awk .*)$/m.exec(guide) ?? []
    const [before, after] = await Promise.all([stateless(), startSessionHost()])
    const files = [
      fileOf('good.json', { one: { url: before.url } }),
      fileOf('bad.json', { one: { url: before.url }, two: { url: after.url } }),
      fileOf('broken.json', { one: { url: before.url }, two: {} }),
      join(folder, 'none.json'),
    ]
    // In many pipelines a step has more lines, and each of them must be able to end it.
    const codes = await Promise.all(files.map((file) => shell(`set -e; ${line.replace('mcp.json', file)}; true`)))
    expect(codes).toEqual([0, 1, 1, 1])
  })

  function fileOf(name: string, servers: object): string {
    const file = join(folder, name)
    writeFileSync(file, JSON.stringify({ servers }))
    return file
  }
})
