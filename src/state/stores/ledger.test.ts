import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, describe, expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import { type Ledger, memoryLedger, sqliteLedger } from '../index.ts'
import { ledgerContract } from '../../../test/state/ledgerContract.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-ledger-'))
let files = 0
const newPath = () => join(folder, `ledger-${++files}.db`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let nowMs = 1_000_000
const clock = () => nowMs
const timed = (ledger: Ledger) => ({ ledger, advance: (ms: number) => void (nowMs += ms) })

ledgerContract('a ledger in memory', () => timed(memoryLedger({ clock })))
ledgerContract('a ledger in SQLite', () => timed(sqliteLedger({ path: newPath(), clock })))

describe('a ledger in memory with a cap', () => {
  test('gives one caller a part of its room, and the rest to others', async () => {
    let now = 0
    const ledger = memoryLedger({ clock: () => now, maxEntries: 20 })
    for (const id of ['a', 'b']) await ledger.claim(id, 10, 'greedy')
    await expect(ledger.claim('c', 10, 'greedy')).rejects.toThrow('This caller has 2 live claims')
    expect(await ledger.claim('a', 10, 'greedy')).toEqual({ state: 'running' })
    expect(await ledger.claim('c', 10, 'other')).toEqual({ state: 'fresh' })
    expect(await ledger.claim('d', 10)).toEqual({ state: 'fresh' })
    await ledger.release('a')
    expect(await ledger.claim('e', 20, 'greedy')).toEqual({ state: 'fresh' })
    now = 10_000
    expect(await ledger.claim('f', 10, 'greedy')).toEqual({ state: 'fresh' })
  })

  test('gives a group of callers half of its room, and each of them no more than any other caller', async () => {
    const ledger = memoryLedger({ maxEntries: 20 })
    let ids = 0
    const claim = (caller: string) => ledger.claim(`${ids++}`, 10, caller)
    await Promise.all([claim('net\none'), claim('net\none')])
    await expect(claim('net\none')).rejects.toThrow('This caller has 2 live claims')
    for (let count = 0; count < 6; count++) await claim('net\n')
    await Promise.all([claim('net\ntwo'), claim('net\ntwo')])
    for (const one of ['one', 'two', 'three', ''])
      await expect(claim(`net\n${one}`)).rejects.toThrow('The group of this caller has 10 live claims')
    expect(await claim('other')).toEqual({ state: 'fresh' })
    await ledger.release('0')
    expect(await claim('net\nthree')).toEqual({ state: 'fresh' })
  })

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
      import { sqliteLedger } from ${JSON.stringify(new URL('../index.ts', import.meta.url).href)}
      const ledger = sqliteLedger({ path: ${JSON.stringify(path)} })
      console.log('ready')
      await once(process.stdin, 'data')
      const states = []
      for (const id of ${JSON.stringify(ids)}) states.push((await ledger.claim(id, 60)).state)
      console.log(JSON.stringify(states))
      ${after}
      process.exit()`
    const child = spawn(
      process.execPath,
      ['--no-warnings', '--conditions=pannier-source', '--input-type=module', '--eval', source],
      {
        stdio: ['pipe', 'pipe', 'inherit'],
      },
    )
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
