/** The questions for programs over HTTP: who sees and answers what, and how long a list takes. */
import { DatabaseSync } from 'node:sqlite'
import { createServer, type Server, type ServerOptions } from 'pannier/server'
import { newKey } from 'pannier/state'
import { sqliteTasks } from 'pannier/tasks'
import { describe, expect, onTestFinished, test } from 'vitest'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { ENGINES, type EngineName, instancesOver } from '../tasks/fixtures/engines.ts'
import { askless, byName, offerAsking, textOf, waitingIn } from './fixtures/askless.ts'

async function serve(engine: EngineName, options: Partial<ServerOptions> = {}): Promise<[Server, string]> {
  const keys = newKey()
  const [server] = await instancesOver(engine, 1, {}, { questions: true, principal: byName, keys, ...options })
  offerAsking(server!, { charged: 0, deleted: [] })
  return [server!, (await server!.listen({ drainOnTerm: false })).url]
}

interface Listed {
  readonly questions: readonly { id: string; tool: string; server: string; message: string; url?: string }[]
  readonly nextCursor?: string
}

async function list(url: string, name: string, query = ''): Promise<Listed> {
  const response = await fetch(`${url}/questions${query}`, { headers: { 'x-name': name } })
  expect(response.status).toBe(200)
  return (await response.json()) as Listed
}

function answer(url: string, id: string, name: string, body: unknown): Promise<Response> {
  const headers = { 'x-name': name, 'content-type': 'application/json' }
  const method = 'POST'
  return fetch(`${url}/questions/${encodeURIComponent(id)}`, { method, headers, body: JSON.stringify(body) })
}

describe.each(ENGINES)('over %s', (engine) => {
  test('a program lists what its caller may answer, page by page, and answers it', async () => {
    const [, url] = await serve(engine)
    const ann = await askless('SDK v2', url, 'ann')
    const { ticket } = waitingIn(await ann.call('refund', { cents: 5 }))
    await ann.call('refund', { cents: 7 })
    await ann.call('delete_branch', { branch: 'old' })
    expect((await list(url, 'ann')).questions).toMatchObject([
      { tool: 'delete_branch', server: 'engines-test', message: 'Delete the branch old?', url: expect.any(String) },
    ])
    expect((await list(url, 'bob')).questions).toEqual([])
    const first = await list(url, 'mia', '?limit=1&tool=refund')
    expect(first.questions).toMatchObject([{ message: 'ann asks for 5 cents.', by: ['role:manager'] }])
    expect(first.questions[0]).not.toHaveProperty('url')
    const second = await list(url, 'mia', `?limit=1&cursor=${first.nextCursor}`)
    expect(second.questions).toMatchObject([{ message: 'ann asks for 7 cents.' }])
    for (const nothing of ['?server=other', '?tool=other', '?olderThanMs=60000'])
      expect((await list(url, 'mia', nothing)).questions).toEqual([])
    const { id } = first.questions[0]!
    const answered = await answer(url, id, 'mia', { action: 'accept', content: { approve: true } })
    expect([answered.status, await answered.json()]).toEqual([
      200,
      expect.objectContaining({ outcome: expect.objectContaining({ state: 'answered', way: 'program' }) }),
    ])
    expect(textOf(await ann.call('continue_call', { ticket }))).toBe('5 cents, approved by mia')
  })

  test('refused are other people, callers without a name, second answers, and answers that do not fit', async () => {
    const [, url] = await serve(engine)
    const ann = await askless('SDK v2', url, 'ann')
    await ann.call('refund', { cents: 5 })
    const { id } = (await list(url, 'mia')).questions[0]!
    const yes = { action: 'accept', content: { approve: true } }
    for (const name of ['ann', 'bob']) expect((await answer(url, id, name, yes)).status).toBe(409)
    expect((await fetch(`${url}/questions`)).status).toBe(401)
    for (const wrong of [
      {},
      [],
      'x',
      { action: 'accept', content: 5 },
      { action: 'accept', content: { approve: 'x' } },
    ])
      expect((await answer(url, id, 'mia', wrong)).status).toBe(400)
    expect((await fetch(`${url}/questions?limit=x`, { headers: { 'x-name': 'mia' } })).status).toBe(400)
    expect((await fetch(`${url}/questions?cursor=x`, { headers: { 'x-name': 'mia' } })).status).toBe(400)
    expect((await fetch(`${url}/questions`, { method: 'DELETE', headers: { 'x-name': 'mia' } })).status).toBe(405)
    expect((await fetch(`${url}/questions/no%2`, { headers: { 'x-name': 'mia' } })).status).toBe(404)
    const foreign = { headers: { 'x-name': 'mia', origin: 'https://evil.example.com' } }
    expect((await fetch(`${url}/questions`, foreign)).status).toBe(403)
    expect((await answer(url, id, 'mia', { action: 'decline' })).status).toBe(200)
    expect(await (await answer(url, id, 'mia', yes)).text()).toContain('It was declined by mia')
  })
})

test('requests for the list count for the limits of their caller', async () => {
  const [, url] = await serve('SQLite', { limits: { requestsPerMinute: 5 } })
  const statuses: number[] = []
  for (let request = 0; request < 8; request++)
    statuses.push((await fetch(`${url}/questions`, { headers: { 'x-name': 'mia' } })).status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429, 429])
})

const OTHERS = 100_000
/** The median of a quiet machine is a tenth of it. */
const LIST_MS = 20

/** Copies the only question of a store, each for another person. */
function addOthers(path: string): void {
  const file = new DatabaseSync(path)
  const columns = (table: string): string[] =>
    file
      .prepare(`SELECT name FROM pragma_table_info('${table}')`)
      .all()
      .map(({ name }) => String(name))
  const copy = (table: string, changed: Readonly<Record<string, string>>): void => {
    const names = columns(table)
    const values = names.map((name) => changed[name] ?? `o.${name}`)
    file.exec(`WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < ${OTHERS + 999})
      INSERT INTO ${table} (${names.join(', ')}) SELECT ${values.join(', ')} FROM n, (SELECT * FROM ${table} LIMIT 1) AS o`)
  }
  file.exec('BEGIN')
  const other = (name: string): string => `o.${name} || '-' || n.i`
  const named = Object.fromEntries(['address', 'call', 'owner', 'holder'].map((name) => [name, other(name)]))
  copy('tasks', { ...named, number: 'n.i', same_key: 'NULL' })
  copy('calls', { task: 'n.i' })
  copy('questions', { place: 'n.i', task: 'n.i' })
  copy('addressees', { name: other('name'), place: 'n.i' })
  file.exec('COMMIT')
  file.close()
}

test(`among ${OTHERS} open questions for others, a person's list takes at most ${LIST_MS} ms`, async () => {
  const path = storePath()
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const tasks = sqliteTasks({ path })
  const server = createServer({ name: 'many', version: '1', logger, principal: byName, questions: true, tasks })
  offerAsking(server, { charged: 0, deleted: [] })
  onTestFinished(() => server.drain({ deadlineMs: 1000, idleMs: 0 }))
  const { url } = await server.listen({ drainOnTerm: false })
  const ann = await askless('SDK v2', url, 'ann')
  await ann.call('refund', { cents: 5 })
  addOthers(path)
  await ann.call('delete_branch', { branch: 'old' })
  const mia = { id: 'mia', subject: 'mia', claims: { roles: ['manager'] } }
  const times: number[] = []
  for (let turn = 0; turn < 30; turn++) {
    const from = performance.now()
    const { questions } = await server.questions.open({ for: mia })
    times.push(performance.now() - from)
    expect(questions).toHaveLength(1)
  }
  const median = times.toSorted((a, b) => a - b)[15] ?? Infinity
  expect(median).toBeLessThan(LIST_MS)
  expect((await server.questions.open({ for: { id: 'ann', subject: 'ann' } })).questions).toMatchObject([
    { tool: 'delete_branch' },
  ])
  console.info(`The list of one person among ${OTHERS} takes ${median.toFixed(1)} ms.`)
}, 120_000)
