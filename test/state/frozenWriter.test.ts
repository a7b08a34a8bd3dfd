/** A process that is frozen inside a write: what the others, which use the same SQLite files, can still do. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { createServer } from 'pannier/server'
import { sqliteCarryStore, sqliteJar, sqliteLedger } from 'pannier/state'
import { sqliteTasks } from 'pannier/tasks'
import { expect, onTestFinished, test } from 'vitest'
import { RawSession } from '../interop/fixtures/rawSession.ts'

const program = fileURLToPath(new URL('./programs/frozenWriter.ts', import.meta.url))
const owner = { server: 'shop.example.com', principal: 'ann', context: 'chat' }
const later = 1e10
// How long it was blocked before: 5 s for each write. A busy machine alone takes a tenth of that.
const MAX_BLOCKED_MS = 1000

async function freezeIn(paths: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--conditions=pannier-source', program, ...paths])
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

/** Looks at the event loop of this process until it is told to stop; then gives for how long it was blocked at most. */
function watchLoop(): () => number {
  let [last, longest] = [performance.now(), 0]
  const look = (): void => {
    const now = performance.now()
    longest = Math.max(longest, now - last)
    last = now
  }
  const timer = setInterval(look, 1)
  return () => {
    clearInterval(timer)
    look()
    return longest
  }
}

/** A server with its tasks, ledger and store in files, and a jar; each file has something in it already. */
async function openAll() {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-frozen-'))
  const paths = ['tasks.db', 'state.db', 'jar.db'].map((name) => join(folder, name))
  const [path = '', state = '', jarPath = ''] = paths
  const [ledger, store, jar] = [
    sqliteLedger({ path: state }),
    sqliteCarryStore({ path: state }),
    sqliteJar({ path: jarPath }),
  ]
  const tasks = sqliteTasks({ path, leaseMs: 1000 })
  const logger = { debug() {}, info() {}, warn() {}, error() {} }
  const server = createServer({ name: 'shop', version: '1', logger, tasks, ledger, store })
  server.tool('slow', { description: 'Runs as a task.', task: 'required' }, () => 'done')
  const { url } = await server.listen({ port: 0, drainOnTerm: false })
  onTestFinished(async () => {
    await server.drain({ deadlineMs: 1000 })
    for (const opened of [ledger, store, jar]) opened.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const session = await RawSession.begin(url)
  const call = () => session.request('tools/call', { name: 'slow', arguments: {}, task: {} })
  await Promise.all([call(), ledger.claim('old', 60), store.put('old', 'token', later)])
  await ledger.claim('undone', 60)
  await jar.write(owner, { session: { cart: 1 }, server: { id: 1 } })
  return { paths, ledger, store, jar, session, call }
}

test.each(['SIGCONT', 'SIGKILL'] as const)(
  'a process frozen in a write blocks no event loop; reads go on, and writes are made after its %s',
  async (signal) => {
    const { paths, ledger, store, jar, session, call } = await openAll()
    const frozen = await freezeIn(paths)
    const stopWatching = watchLoop()

    const done: string[] = []
    const writes = {
      task: call(),
      claim: ledger.claim('new', 60),
      settle: ledger.settle('old', 'settled'),
      release: ledger.release('undone'),
      put: store.put('new', 'token', later),
      delete: store.delete('old'),
      write: jar.write(owner, { server: { id: 2 } }),
      writeAgain: jar.write(owner, { server: { id: 3 } }),
      endContext: jar.endContext(owner),
      clear: jar.clear({ server: 'other.example.com' }),
    }
    const all = Object.entries(writes).map(([name, write]) => write.then(() => done.push(name)))
    // Long enough for several heartbeats of the worker, which are writes as well.
    const until = performance.now() + 800
    while (performance.now() < until) {
      expect((await session.request('ping')).result).toEqual({})
      expect(await store.get('old')).toBe('token')
      expect((await jar.read(owner)).server).toEqual({ id: 1 })
      await sleep(20)
    }
    expect(done).toEqual([])
    frozen.kill(signal)
    await Promise.all(all)
    expect(stopWatching()).toBeLessThan(MAX_BLOCKED_MS)

    expect(await jar.read(owner)).toEqual({ session: {}, server: { id: 3 } })
    expect([await store.get('old'), await store.get('new')]).toEqual([undefined, 'token'])
    const claims = await Promise.all(['old', 'new', 'undone'].map((id) => ledger.claim(id, 60)))
    expect(claims.map(({ state }) => state)).toEqual(['done', 'running', 'fresh'])
    const { taskId } = (await writes.task).result!['task'] as { taskId: string }
    const { result } = await session.request('tasks/result', { taskId })
    expect(result).toMatchObject({ content: [{ text: 'done' }] })
  },
)
