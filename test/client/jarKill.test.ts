/** Many processes write one jar while one is killed again and again. Real processes, one file, and SIGKILL. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sqliteJar } from 'pannier/state'
import { afterEach, expect } from 'vitest'
import { amount } from '../amount.ts'
import { proves } from '../proves.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-jar-kill-'))
const program = fileURLToPath(new URL('./programs/jarWriter.ts', import.meta.url))
const running = new Set<ChildProcess>()

afterEach(async () => {
  for (const child of running) child.kill('SIGKILL')
  await Promise.all([...running].map((child) => once(child, 'close')))
  rmSync(folder, { recursive: true, force: true })
})

/** A process that writes, and what it said. */
class Writer {
  readonly name: string
  readonly #child: ChildProcess
  readonly #lines: string[] = []
  #errors = ''
  #rest = ''

  constructor(path: string, name: string, pauseMs = 0) {
    this.name = name
    this.#child = spawn(process.execPath, ['--conditions=pannier-source', program, path, name, `${pauseMs}`])
    running.add(this.#child)
    this.#child.once('close', () => running.delete(this.#child))
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#errors += text))
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      const lines = (this.#rest + text).split('\n')
      this.#rest = lines.pop() ?? ''
      this.#lines.push(...lines)
    })
  }

  get found(): number {
    return numberIn(this.#lines.find((line) => line.startsWith('found ')))
  }

  /** The last number that it reported as kept. */
  get kept(): number {
    return numberIn(this.#lines.at(-1))
  }

  /** Waits until it reports two lines more than it has. */
  async more(): Promise<void> {
    const before = this.#lines.length
    while (this.#lines.length < before + 2) {
      if (this.#child.exitCode !== null) throw new Error(`The writer ended: ${this.#errors}`)
      await wait(2)
    }
  }

  async kill(): Promise<void> {
    const closed = once(this.#child, 'close')
    this.#child.kill('SIGKILL')
    await closed
    expect(this.#errors).toBe('')
  }
}

function numberIn(line: string | undefined): number {
  return Number(line?.split(' ')[1] ?? 0)
}

/** What is kept is the last write that was reported, or the one after it, which was under way; and that as a whole. */
async function expectKept(path: string, principal: string, reported: number): Promise<void> {
  const jar = sqliteJar({ path })
  const { session, server } = await jar.read({ server: 'shop.example.com', principal, context: 'chat' })
  jar.close()
  const latest = Number(server['count'])
  expect([reported, reported + 1]).toContain(latest)
  expect(session['count']).toBe(latest)
  const turns = Array.from({ length: Math.min(10, latest) }, (_, back) => latest - back)
  expect(turns.map((turn) => session[`turn ${turn % 10}`])).toEqual(turns)
}

proves(
  'CS-11',
  'nothing that was kept is lost when a process is killed at any moment, while others write',
  async () => {
    const path = join(folder, 'jar.db')
    const steady = ['ann', 'bob', 'cid'].map((name) => new Writer(path, name, 2))
    await Promise.all(steady.map((writer) => writer.more()))

    let [kills, kept] = [0, 0]
    while (kills < amount(6, 30)) {
      const victim = new Writer(path, 'victim')
      await victim.more()
      await wait(Math.random() * 40)
      await victim.kill()
      expect([kept, kept + 1]).toContain(victim.found)
      kept = victim.kept
      kills++
    }
    await Promise.all(steady.map((writer) => writer.more()))
    await Promise.all(steady.map((writer) => writer.kill()))

    expect(kept).toBeGreaterThan(kills)
    await expectKept(path, 'victim', kept)
    for (const { name, kept: last } of steady) await expectKept(path, name, last)
    const database = new DatabaseSync(path)
    expect(database.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' })
    database.close()
  },
)
