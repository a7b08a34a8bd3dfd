/** Instances that are killed before or after each commit of a question: asked, notified, answered once, and continued once. */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { newKey } from 'pannier/state'
import { describe, expect, type TestContext, test, vi } from 'vitest'
import { type Instance, startInstance } from '../../examples/work-items/fleet.ts'
import { isLong } from '../amount.ts'
import { newDatabase } from '../postgres/database.ts'
import type { KillPoint } from '../tasks/survival/fixtures/killingEngine.ts'
import type { StoreLocation } from '../tasks/survival/fixtures/stores.ts'
import { call as callAt } from '../fixtures/modernClient.ts'
import { textOf, type ToolResult, waitingIn } from './fixtures/askless.ts'

const PROGRAM = fileURLToPath(new URL('fixtures/killedServer.ts', import.meta.url))
const POINTS = (
  'before create,after create,after take,before ask,after ask,after notices,before notified,after notified,before answer,' +
  'after answer,before claim,before end,after end,before forget,after forget'
).split(',') as KillPoint[]
const PATIENCE = { timeout: 120_000, interval: 100 }
const LIMIT_MS = 300_000
const YES = { action: 'accept', 'field.sure': 'yes' }

/** A program that notes which questions it was notified of. */
async function receiver({ onTestFinished }: TestContext) {
  const heard: string[] = []
  const server = createServer((req, res) => {
    void text(req).then((body) => {
      heard.push((JSON.parse(body) as { data: { question: string } }).data.question)
      res.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { heard, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` }
}

/** Two instances over one store, of which the first is killed at a point. The second starts when that has happened. */
class Pair {
  readonly #start: (name: string, env: Record<string, string>) => Promise<Instance>
  readonly #point: KillPoint
  #first: Instance | undefined
  #second: Promise<Instance> | undefined

  constructor(point: KillPoint, env: Record<string, string>, { onTestFinished }: TestContext) {
    this.#point = point
    const shared = { PANNIER_KEYS: newKey(), ...env }
    this.#start = async (name, more) => {
      const instance = await startInstance({ name, program: PROGRAM, env: { ...shared, ...more }, startMs: 60_000 })
      onTestFinished(async () => void (await instance.end('SIGKILL')))
      return instance
    }
  }

  async begin(): Promise<void> {
    this.#first = await this.#start('A', { KILL_AT: this.#point })
    this.#second = this.#first.exited.then(() => this.#start('B', {}))
    this.#second.catch(() => {}) // it is awaited where it is needed
  }

  get isKilled(): boolean {
    return this.#first?.child.signalCode === 'SIGKILL'
  }

  /** Does this at the first instance, or, once it is dead, at the second. */
  async at<T>(act: (url: string) => Promise<T>): Promise<T> {
    try {
      if (!this.isKilled) return await act(this.#first!.url)
    } catch (error) {
      await this.#first!.exited
      if (!this.isKilled) throw error
    }
    return act((await this.#second!).url)
  }
}

async function callTool(url: string, name: string, args: Record<string, unknown>): Promise<ToolResult> {
  const { message } = await callAt(url, name, args, { headers: { 'x-name': 'ann' }, capabilities: {} })
  return message.result as ToolResult
}

async function newPlace(store: string, folder: string): Promise<StoreLocation> {
  if (store === 'SQLite') return { kind: 'sqlite', path: join(folder, 'tasks.db') }
  return { kind: 'postgres', url: await newDatabase() }
}

/** The long form tries each point over each store, the short form each over one of them. */
const pointsOver = (store: string): readonly KillPoint[] =>
  isLong ? POINTS : POINTS.filter((_, n) => (n % 2 === 0) === (store === 'SQLite'))

describe.concurrent.each(['SQLite', 'PostgreSQL'])('over %s', (store) => {
  test.for(pointsOver(store))('an instance is killed %s', { timeout: LIMIT_MS }, async (point, context) => {
    const folder = mkdtempSync(join(tmpdir(), 'pannier-killed-'))
    context.onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const [hook, effects] = [await receiver(context), join(folder, 'effects')]
    const place = JSON.stringify(await newPlace(store, folder))
    const pair = new Pair(point, { STORE: place, HOOK: hook.url, EFFECTS: effects }, context)
    await pair.begin()

    const waiting = await vi.waitFor(async () => {
      const result = await pair.at((url) => callTool(url, 'erase', { key: 'all' }))
      return waitingIn(result).questions[0] === undefined ? Promise.reject(new Error('It does not ask yet.')) : result
    }, PATIENCE)
    const { ticket, questions } = waitingIn(waiting)
    const [question = { id: '', url: '' }] = questions
    await vi.waitFor(() => expect(hook.heard).toContain(question.id), PATIENCE)
    // The next one is sent after the last notice was removed from the outbox, or by the heir.
    if (point.endsWith('notices') || point.endsWith('notified'))
      await vi.waitFor(() => expect(pair.isKilled).toBe(true), PATIENCE)

    const link = (url: string): string => url.replace(/\/mcp$/, new URL(question.url ?? '').pathname)
    const answer = (): Promise<number> =>
      pair.at(async (url) => (await fetch(link(url), { method: 'POST', body: new URLSearchParams(YES) })).status)
    const wasKilled = pair.isKilled
    const status = await answer()
    // An instance that is killed after the answer was stored may not have said so.
    expect(!wasKilled && pair.isKilled ? [200, 410] : [200]).toContain(status)
    const result = await vi.waitFor(async () => {
      const given = await pair.at((url) => callTool(url, 'continue_call', { ticket }))
      expect(given._meta?.['dev.pannier/waiting']).toBeUndefined()
      return given
    }, PATIENCE)

    expect(textOf(result)).toBe('erased all')
    expect([await answer(), existsSync(effects) && readFileSync(effects, 'utf8')]).toEqual([410, 'all true\n'])
    expect(new Set(hook.heard)).toEqual(new Set([question.id]))
    expect(pair.isKilled).toBe(true)
  })
})
