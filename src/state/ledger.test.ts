import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, test } from 'vitest'
import { proves } from '../../test/proves.ts'
import { type Ledger, memoryLedger, sqliteLedger } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-ledger-'))
let files = 0
const newPath = () => join(folder, `ledger-${++files}.db`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let nowMs = 1_000_000
const clock = () => nowMs
const ledgers: [string, () => Ledger][] = [
  ['in memory', () => memoryLedger({ clock })],
  ['in SQLite', () => sqliteLedger({ path: newPath(), clock })],
]

describe.each(ledgers)('a ledger %s', (_, makeLedger) => {
  const ledger = makeLedger()

  test('gives an id to the first who claims it and tells the others that it runs', async () => {
    expect(await ledger.claim('first', 60)).toEqual({ state: 'fresh' })
    expect(await ledger.claim('first', 60)).toEqual({ state: 'running' })
    expect(await ledger.claim('another', 60)).toEqual({ state: 'fresh' })
  })

  test.each([[{ linked: [1, null, 'é\ud800'] }], [null], [0], [''], [undefined]])(
    'tells later claims the settled value %j',
    async (value) => {
      const id = `settled ${typeof value} ${JSON.stringify(value)}`
      await ledger.claim(id, 60)
      await ledger.settle(id, value)
      expect(await ledger.claim(id, 60)).toEqual({ state: 'done', value })
    },
  )

  test('gives each claim a value of its own', async () => {
    const value = { list: [1] }
    await ledger.claim('copy', 60)
    await ledger.settle('copy', value)
    value.list.push(2)
    const first = await ledger.claim('copy', 60)
    if (first.state === 'done') (first.value as typeof value).list.push(3)
    expect(await ledger.claim('copy', 60)).toEqual({ state: 'done', value: { list: [1] } })
  })

  test('keeps the first settled value', async () => {
    await ledger.claim('twice', 60)
    await ledger.settle('twice', 1)
    await ledger.settle('twice', 2)
    expect(await ledger.claim('twice', 60)).toEqual({ state: 'done', value: 1 })
  })

  test('lets a released id be claimed again, but releases nothing that is done', async () => {
    await ledger.claim('released', 60)
    await ledger.release('released')
    await ledger.release('never claimed')
    expect(await ledger.claim('released', 60)).toEqual({ state: 'fresh' })
    await ledger.settle('released', 'value')
    await ledger.release('released')
    expect(await ledger.claim('released', 60)).toEqual({ state: 'done', value: 'value' })
  })

  test('forgets a claim when its time is over, running or done', async () => {
    await ledger.claim('short', 10)
    await ledger.claim('short and done', 10)
    await ledger.settle('short and done', 1)
    nowMs += 9_999
    expect(await ledger.claim('short', 10)).toEqual({ state: 'running' })
    expect(await ledger.claim('short and done', 10)).toEqual({ state: 'done', value: 1 })
    nowMs += 1
    expect(await ledger.claim('short', 10)).toEqual({ state: 'fresh' })
    expect(await ledger.claim('short and done', 10)).toEqual({ state: 'fresh' })
  })

  test('refuses to settle what is not claimed, or no longer', async () => {
    const unknown = expect.objectContaining({ name: 'StateError', code: 'LEDGER_UNKNOWN' })
    await expect(ledger.settle('never', 1)).rejects.toEqual(unknown)
    await ledger.claim('late', 10)
    nowMs += 10_000
    await expect(ledger.settle('late', 1)).rejects.toEqual(unknown)
  })

  test('refuses a value that is not JSON, and the claim keeps running', async () => {
    await ledger.claim('bigint', 60)
    await expect(ledger.settle('bigint', 1n)).rejects.toMatchObject({ code: 'STATE_NOT_JSON' })
    expect(await ledger.claim('bigint', 60)).toEqual({ state: 'running' })
  })

  test('keeps strange ids apart and refuses those that UTF-8 would confuse', async () => {
    for (const id of ['__proto__', 'constructor', '', 'a\0b', 'a', 'A', "'; DROP TABLE claims; --"]) {
      expect(await ledger.claim(id, 60)).toEqual({ state: 'fresh' })
    }
    await expect(ledger.claim('\ud800', 60)).rejects.toMatchObject({ code: 'STATE_OPTION' })
    await expect(ledger.claim('x', Number.NaN)).rejects.toMatchObject({ code: 'STATE_OPTION' })
    await expect(ledger.claim('x', 0)).rejects.toMatchObject({ code: 'STATE_OPTION' })
  })

  proves('ST-11', 'a hundred claims of one state at once give one that is fresh', async () => {
    const claims = await Promise.all(Array.from({ length: 100 }, () => ledger.claim('crowd', 60)))
    expect(claims.filter(({ state }) => state === 'fresh')).toHaveLength(1)
  })
})

describe('a ledger in memory', () => {
  test('refuses new claims at its cap rather than forget a live one, and takes them when old ones end', async () => {
    let now = 0
    const ledger = memoryLedger({ clock: () => now, maxEntries: 3 })
    for (const [id, ttl] of [
      ['a', 10],
      ['b', 20],
      ['c', 20],
    ] as const)
      await ledger.claim(id, ttl)
    await expect(ledger.claim('d', 10)).rejects.toMatchObject({ code: 'LEDGER_FULL' })
    await expect(ledger.claim('d', 10)).rejects.toThrow(/3 live claims.*maxEntries/)
    expect(await ledger.claim('a', 10)).toEqual({ state: 'running' })
    now = 10_000
    expect(await ledger.claim('d', 10)).toEqual({ state: 'fresh' })
    await expect(ledger.claim('e', 10)).rejects.toMatchObject({ code: 'LEDGER_FULL' })
    await ledger.release('b')
    expect(await ledger.claim('e', 10)).toEqual({ state: 'fresh' })
  })
})

describe('a ledger in SQLite, used by several processes', () => {
  const children: ChildProcess[] = []
  afterAll(() => children.forEach((child) => child.kill('SIGKILL')))

  /** A process that opens the ledger, says so, waits for a line, then claims the ids and says what it got. */
  function startClaimer(path: string, ids: string[], after = '') {
    const source = `
      import { once } from 'node:events'
      import { sqliteLedger } from ${JSON.stringify(new URL('./index.ts', import.meta.url).href)}
      const ledger = sqliteLedger({ path: ${JSON.stringify(path)} })
      console.log('ready')
      await once(process.stdin, 'data')
      const states = []
      for (const id of ${JSON.stringify(ids)}) states.push((await ledger.claim(id, 60)).state)
      console.log(JSON.stringify(states))
      ${after}
      process.exit()`
    const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '--eval', source], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    children.push(child)
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const nextLine = async () => String((await lines.next()).value)
    return { child, nextLine, go: () => child.stdin.write('go\n') }
  }

  proves('ST-11', 'of two processes that claim the same states at once, exactly one gets each', async () => {
    const ids = Array.from({ length: 100 }, (_, index) => `id-${index}`)
    const path = newPath()
    const claimers = [startClaimer(path, ids), startClaimer(path, ids)]
    for (const { nextLine } of claimers) expect(await nextLine()).toBe('ready')
    for (const { go } of claimers) go()
    const states = await Promise.all(
      claimers.map(async ({ nextLine }): Promise<string[]> => JSON.parse(await nextLine())),
    )
    for (const index of ids.keys()) {
      expect(new Set(states.map((list) => list[index]))).toEqual(new Set(['fresh', 'running']))
    }
  })

  test('a claim stays running when its process is killed before it settles', async () => {
    const path = newPath()
    const { child, nextLine, go } = startClaimer(
      path,
      ['killed'],
      'setInterval(() => {}, 1000); await new Promise(() => {})',
    )
    expect(await nextLine()).toBe('ready')
    go()
    expect(await nextLine()).toBe('["fresh"]')
    child.kill('SIGKILL')
    await once(child, 'exit')
    const ledger = sqliteLedger({ path })
    expect(await ledger.claim('killed', 60)).toEqual({ state: 'running' })
    ledger.close()
  })
})
