/** An engine in whose process nothing happens after a point: it is killed before or after one of its commits. */
import type { Lease, TaskEngine } from 'pannier/tasks'

type LeaseCommit = `step ${string}` | 'claim' | 'unclaim' | 'note' | 'ask' | 'end' | 'giveBack'
type Commit = 'create' | 'answer' | 'cancel' | LeaseCommit
export type KillPoint = 'after take' | `${'before' | 'after'} ${Commit}`

type Around = <T>(commit: Commit, run: () => Promise<T>) => Promise<T>

export function killingEngine(engine: TaskEngine, point: KillPoint): TaskEngine {
  const around: Around = async (commit, run) => {
    if (point === `before ${commit}`) die()
    const outcome = await run()
    if (point === `after ${commit}`) die()
    return outcome
  }
  return {
    open: (host) => engine.open(host),
    create: (task) => around('create', () => engine.create(task)),
    read: (id, owner) => engine.read(id, owner),
    list: (owner, after, limit) => engine.list(owner, after, limit),
    answer: (id, owner, answers) => around('answer', () => engine.answer(id, owner, answers)),
    cancel: (id, owner) => around('cancel', () => engine.cancel(id, owner)),
    work: ({ run, ...options }) => {
      const runUntil = (lease: Lease) => (point === 'after take' ? die() : run(killingLease(lease, around)))
      return engine.work({ ...options, run: runUntil })
    },
    watch: (id, listener) => engine.watch(id, listener),
    close: () => engine.close(),
  }
}

function killingLease(lease: Lease, around: Around): Lease {
  return {
    id: lease.id,
    tool: lease.tool,
    args: lease.args,
    caller: lease.caller,
    journal: lease.journal,
    signal: lease.signal,
    step: (key, result) => around(`step ${key}`, () => lease.step(key, result)),
    claim: (key) => around('claim', () => lease.claim(key)),
    unclaim: (key) => around('unclaim', () => lease.unclaim(key)),
    note: (message) => around('note', () => lease.note(message)),
    ask: (questions, own) => around('ask', () => lease.ask(questions, own)),
    end: (end) => around('end', () => lease.end(end)),
    giveBack: () => around('giveBack', () => lease.giveBack()),
  }
}

/** The signal cannot be caught: the process is gone before this returns. */
function die(): never {
  process.kill(process.pid, 'SIGKILL')
  throw new Error('This process was killed.')
}
