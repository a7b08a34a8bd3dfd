import { randomUUID } from 'node:crypto'
import { expect, test, vi } from 'vitest'
import { newJournal } from '../../../src/journal/index.ts'
import type { Lease, NewQuestion, TaskEngine } from '../../../src/tasks/engine.ts'
import type { ManualWorker } from './manualWorker.ts'
import { answerer, answering, answerTo, keysOf, newTask, question, request, type ContractHarness } from './harness.ts'

/** Questions, and every kind of answer. */
export function declareQuestions(harness: ContractHarness): void {
  test('a task that asks shows all its questions, and its run is over', async () => {
    const { engine, lease } = await asking(harness, [question('a'), question('__proto__'), question('😀')])
    const task = await engine.read(lease.id, 'ann')
    expect(task).toMatchObject({ status: 'input_required' })
    expect(keysOf(task)).toEqual(['__proto__', 'a', '😀'])
    expect(task?.questions.get('__proto__')).toEqual(request('__proto__'))
    await expect(lease.end({ status: 'completed', result: {} })).rejects.toMatchObject({ code: 'LEASE_LOST' })
  })

  test('a task that asks is not leased before everything is answered', async () => {
    const { engine, worker, lease } = await asking(harness, [question('a'), question('b')])
    const after = await engine.answer(lease.id, 'ann', answering('b'))
    expect(after).toMatchObject({ status: 'input_required' })
    expect(keysOf(after)).toEqual(['a'])
    const other = await engine.create(newTask())
    expect((await worker.nextLease()).id).toBe(other.id)
    expect(worker.untaken).toBe(0)
    const ready = await engine.answer(lease.id, 'ann', answering('a'))
    expect(ready).toMatchObject({ status: 'working' })
    expect(keysOf(ready)).toEqual([])
    const { answers } = (await worker.nextLease()).journal
    expect(answers.get('a')?.response).toEqual(answerTo('a'))
    expect(answers.get('b')?.response).toEqual(answerTo('b'))
  })

  test('a question for others is found without an owner as long as it is open, and keeps who answered it', async () => {
    const approvers = { by: ['role:manager'], fourEyes: true }
    const { engine, worker, lease } = await asking(harness, [question('a'), question('b', { approvers })])
    const other = await harness.engine()
    expect([...((await engine.read(lease.id, 'ann'))?.approvers ?? [])]).toEqual([['b', approvers]])
    const awaiting = await other.awaiting(lease.id)
    expect(awaiting).toMatchObject({ id: lease.id, status: 'input_required', statusMessage: undefined })
    expect([...(awaiting?.approvers ?? [])]).toEqual([['b', approvers]])
    expect(await other.read(lease.id, 'mia')).toBeUndefined()
    expect(keysOf(await other.answer(lease.id, undefined, { ...answering('a'), by: answerer('mia') }))).toEqual([
      'a',
      'b',
    ])
    const again = await other.answer(lease.id, undefined, { ...refusing('b'), by: answerer('mia') })
    expect([keysOf(again), again?.approvers.get('b~2')]).toEqual([['a', 'b~2'], approvers])
    expect(keysOf(await other.answer(lease.id, undefined, { ...answering('b~2'), by: answerer('mia') }))).toEqual(['a'])
    expect(await other.awaiting(lease.id)).toBeUndefined()
    expect(await other.answer(lease.id, undefined, { ...answering('a'), by: answerer('mia') })).toBeUndefined()
    await engine.answer(lease.id, 'ann', answering('a'))
    const { answers } = (await worker.nextLease()).journal
    expect([answers.get('a')?.by, answers.get('b')?.by]).toEqual([undefined, answerer('mia')])
  })

  test('notices of a question are claimed by one engine at a time, and again after a process has died', async () => {
    const engine = await harness.engine({}, harness.audience, ['mail', 'chat'])
    const other = await harness.engine({}, harness.audience, ['chat'])
    const stranger = await harness.engine({}, `${harness.audience} of another server`, ['mail', 'chat'])
    const lease = await leaseOf(harness, engine)
    await lease.ask([question('a', { approvers: { by: ['role:manager'], fourEyes: false } }), question('b')], undefined)
    expect(await stranger.notices.claim(60_000)).toEqual([])
    const forChat = await other.notices.claim(60_000)
    expect(forChat).toMatchObject(['a', 'b'].map((key) => ({ question: { key }, channel: 'chat', attempt: 1 })))
    expect((await engine.notices.claim(1)).map(({ channel }) => channel)).toEqual(['mail', 'mail'])
    const again = await vi.waitFor(async () => {
      const due = await engine.notices.claim(60_000)
      expect(due).toHaveLength(2)
      return due
    })
    expect(again.map(({ attempt }) => attempt)).toEqual([2, 2])
    expect(await engine.notices.claim(60_000)).toEqual([])
  })

  test('a delivered notice leaves the outbox, one that was given up is in the list, and one of a closed question is gone', async () => {
    const engine = await harness.engine({}, harness.audience, ['mail'])
    const lease = await leaseOf(harness, engine)
    const approvers = { by: ['role:manager'], fourEyes: false }
    await lease.ask([question('a', { approvers }), question('b', { approvers }), question('c')], undefined)
    await engine.answer(lease.id, 'ann', answering('c'))
    const [first, second, ...others] = await engine.notices.claim(1)
    expect(others).toEqual([])
    const at = ({ question: { place } }: typeof first & object) => ({ place, channel: 'mail' })
    await engine.notices.remove(at(first!))
    await engine.notices.postpone(at(second!), undefined)
    const listed = await engine.openQuestions({ owner: undefined, names: ['role:manager'], after: 0, limit: 9 })
    const undelivered = new Map(listed.map((each) => [each.place, each.undelivered]))
    expect([undelivered.get(first!.question.place), undelivered.get(second!.question.place)]).toEqual([[], ['mail']])
    await engine.notices.postpone(at(second!), 0)
    await vi.waitFor(async () => expect(await engine.notices.claim(60_000)).toHaveLength(1))
  })

  test('a list of open questions has those for its names and those of its owner, in the order in which they were asked', async () => {
    const forTwo = { by: ['role:manager', 'sub:eve'], fourEyes: false }
    const { engine, worker, lease } = await asking(harness, [question('a'), question('b', { approvers: forTwo })])
    const { id } = await engine.create(newTask())
    const second = await worker.nextLease()
    await second.ask([question('c', { approvers: { by: ['role:manager'], fourEyes: true } })], undefined)
    const listed = async (names: string[], owner?: string, after = 0, limit = 10) =>
      (await engine.openQuestions({ owner, names, after, limit })).map(({ key }) => key)
    expect(await listed(['role:manager'])).toEqual(['b', 'c'])
    expect(await listed(['sub:eve', 'sub:bob', 'role:manager'], 'ann')).toEqual(['a', 'b', 'c'])
    expect(await listed(['role:managers', 'manager'], 'bob')).toEqual([])
    expect(await listed([])).toEqual([])
    const [first] = await engine.openQuestions({ owner: undefined, names: ['role:manager'], after: 0, limit: 1 })
    expect(first).toMatchObject({ task: lease.id, tool: 'chore', approvers: forTwo, isOwner: false })
    expect(first?.askedAt).toBeGreaterThan(0)
    expect(await listed(['role:manager'], undefined, first?.place)).toEqual(['c'])
    const other = await harness.engine({}, `${harness.audience} of another server`)
    expect(await other.openQuestions({ owner: 'ann', names: ['role:manager'], after: 0, limit: 10 })).toEqual([])
    await engine.answer(lease.id, undefined, { ...refusing('b'), by: answerer('mia') })
    expect(await listed(['sub:eve'])).toEqual(['b~2'])
    await engine.answer(lease.id, undefined, { ...answering('b~2'), by: answerer('mia') })
    await engine.cancel(id, 'ann')
    expect(await listed(['role:manager', 'sub:eve'], 'ann')).toEqual(['a'])
  })

  test('of two answers to one question at the same time one is stored, and both givers learn which', async () => {
    const approvers = { by: ['role:manager'], fourEyes: false }
    const { engine, worker, lease } = await asking(harness, [question('a', { approvers }), question('b')])
    const other = await harness.engine()
    const answers = await Promise.all([
      engine.answerOne(lease.id, undefined, 'a', { response: answerTo('x'), by: answerer('mia') }),
      other.answerOne(lease.id, undefined, 'a', { response: answerTo('y'), by: answerer('max') }),
    ])
    expect(new Set(answers)).toEqual(new Set([true, false]))
    expect(await engine.answerOne(lease.id, undefined, 'b', { response: answerTo('b'), by: answerer('mia') })).toBe(
      false,
    )
    expect(await engine.answerOne(lease.id, 'ann', 'c', { response: answerTo('c'), by: answerer('ann') })).toBe(false)
    expect(await engine.answerOne(lease.id, 'ann', 'b', { response: answerTo('b'), by: answerer('ann') })).toBe(true)
    const { answers: stored } = (await worker.nextLease()).journal
    expect(stored.get('a')?.by).toEqual(answerer(answers[0] ? 'mia' : 'max'))
  })

  test('what became of a question is stored as long as its task', async () => {
    const approvers = { by: ['role:manager'], fourEyes: false }
    const keys = ['answered', 'declined', 'cancelled', 'withdrawn', 'own']
    const questions = keys.map((key) => question(key, key === 'own' ? {} : { approvers }))
    const { engine, lease } = await asking(harness, questions)
    const outcome = async (key: string) => (await engine.question(lease.id, key, 'ann'))?.outcome
    expect(await outcome('answered')).toEqual({ state: 'open' })
    expect(await outcome('other')).toBeUndefined()
    const by = { id: 'mia', subject: 'Mia', claims: { roles: ['manager'] } }
    const answer = (key: string, action: string) =>
      engine.answerOne(lease.id, undefined, key, { response: { action }, by, way: 'program' })
    const answers = [answer('answered', 'accept'), answer('declined', 'decline'), answer('cancelled', 'cancel')]
    expect(await Promise.all(answers)).toEqual([true, true, true])
    await engine.answerOne(lease.id, 'ann', 'own', { response: { action: 'accept' }, way: 'page' })
    await engine.cancel(lease.id, 'ann')
    const at = expect.any(Number)
    for (const state of ['answered', 'declined', 'cancelled'])
      expect(await outcome(state)).toEqual({ state, at, by, way: 'program' })
    expect(await outcome('own')).toEqual({ state: 'answered', at, by: undefined, way: 'page' })
    expect(await outcome('withdrawn')).toEqual({ state: 'withdrawn', at })
    const seen = await Promise.all(['ann', 'eve'].map((name) => engine.question(lease.id, 'own', name)))
    expect(seen.map((each) => each?.isOwner)).toEqual([true, false])
  })

  test('a question whose time is over cannot be answered', async () => {
    const engine = await harness.engine()
    const worker = harness.worker(engine)
    const { id } = await engine.create(newTask({ answerMs: 1 }))
    const approvers = { by: ['role:manager'], fourEyes: false }
    await (await worker.nextLease()).ask([question('a'), question('b', { approvers })], undefined)
    await vi.waitFor(async () =>
      expect((await engine.question(id, 'a', 'ann'))?.outcome).toEqual({ state: 'expired', at: expect.any(Number) }),
    )
    expect(await engine.answerOne(id, 'ann', 'a', { response: answerTo('a') })).toBe(false)
    expect(await engine.openQuestions({ owner: 'ann', names: ['role:manager'], after: 0, limit: 10 })).toEqual([])
    expect(await engine.awaiting(id)).toBeUndefined()
  })

  test('equal calls of one owner have one task until it is forgotten', async () => {
    const engine = await harness.engine()
    const first = await engine.create(newTask({ same: 'it' }))
    expect((await engine.sameCall('ann', 'it'))?.id).toBe(first.id)
    expect(await engine.sameCall('bob', 'it')).toBeUndefined()
    expect(await engine.sameCall('ann', 'another')).toBeUndefined()
    const other = await harness.engine()
    const equal = await Promise.all([engine, other].map((each) => each.create(newTask({ same: 'it' }))))
    expect(equal.map(({ id }) => id)).toEqual([first.id, first.id])
    await engine.forgetCall(first.id, 'bob')
    expect((await engine.sameCall('ann', 'it'))?.id).toBe(first.id)
    await engine.forgetCall(first.id, 'ann')
    expect(await engine.sameCall('ann', 'it')).toBeUndefined()
    const both = await Promise.all([engine, other].map((each) => each.create(newTask({ same: 'it' }))))
    expect(new Set(both.map(({ id }) => id)).size).toBe(1)
    expect(both[0]?.id).not.toBe(first.id)
  })

  test('a task that asks only its owner is found by nobody else', async () => {
    const { engine, lease } = await asking(harness, [question('a')])
    expect(await engine.awaiting(lease.id)).toBeUndefined()
    expect(await engine.answer(lease.id, undefined, { ...answering('a'), by: answerer('mia') })).toBeUndefined()
  })

  test('an answer through another process lets the task go on', async () => {
    const { worker, lease } = await asking(harness, [question('a')])
    const other = await harness.engine()
    const next = worker.nextLease()
    await other.answer(lease.id, 'ann', answering('a'))
    expect((await next).journal.answers.get('a')?.response).toEqual(answerTo('a'))
  })

  test('a refused answer is asked for again under a new key, and the accepted ones are kept', async () => {
    const { engine, worker, lease } = await asking(harness, [question('a'), question('b')])
    const after = await engine.answer(lease.id, 'ann', { ...answering('b'), refused: new Set(['a']) })
    expect(after).toMatchObject({ status: 'input_required' })
    expect(keysOf(after)).toEqual(['a~2'])
    expect(after?.questions.get('a~2')).toEqual(request('a'))
    expect(keysOf(await engine.answer(lease.id, 'ann', answering('a')))).toEqual(['a~2'])
    await engine.answer(lease.id, 'ann', { accepted: new Map(), refused: new Set(['a~2']) })
    await engine.answer(lease.id, 'ann', answering('a~3'))
    const { answers, open } = (await worker.nextLease()).journal
    expect(answers.get('a')).toEqual({ question: 'fingerprint of a', response: answerTo('a~3') })
    expect(answers.get('b')?.response).toEqual(answerTo('b'))
    expect(open.get('a')).toMatchObject({ question: 'fingerprint of a', times: 3 })
    expect([...answers.keys()].toSorted()).toEqual(['a', 'b'])
  })

  test('after several refused answers to a question the run decides whether to ask again', async () => {
    const { engine, worker, lease } = await asking(harness, [question('a'), question('b')])
    let task = await engine.read(lease.id, 'ann')
    for (let times = 1; times < 5; times++) task = await engine.answer(lease.id, 'ann', refusing(keysOf(task)[0]))
    expect(keysOf(task)).toEqual(['a~5', 'b'])
    task = await engine.answer(lease.id, 'ann', refusing('a~5'))
    expect([task?.status, keysOf(task)]).toEqual(['input_required', ['b']])
    expect(await engine.answer(lease.id, 'ann', answering('b'))).toMatchObject({ status: 'working' })
    const again = await worker.nextLease()
    expect(again.journal.open.get('a')).toMatchObject({ question: 'fingerprint of a', times: 5 })
    expect([...again.journal.answers.keys()]).toEqual(['b'])
    await again.ask([question('a', { times: 6 })], undefined)
    expect(keysOf(await engine.read(lease.id, 'ann'))).toEqual(['a~6'])
  })

  test('a key is used on the wire once in the life of a task', async () => {
    const { engine, worker, lease } = await asking(harness, [question('a')])
    const rounds = [['a', 'a~2'], ['a~2'], ['a', 'a~2~2'], ['a']]
    const seen = ['a']
    for (const round of rounds) {
      await engine.answer(lease.id, 'ann', answering(...seen))
      const next = await worker.nextLease()
      await next.ask(
        round.map((key) => question(key)),
        undefined,
      )
      const keys = keysOf(await engine.read(lease.id, 'ann'))
      expect(keys).toHaveLength(round.length)
      for (const key of keys) expect(seen).not.toContain(key)
      seen.push(...keys)
    }
    expect(seen.slice(0, 3)).toEqual(['a', 'a~2', 'a~2~2'])
  })

  test('the latest answer to a question that was asked again is the one that counts', async () => {
    const { engine, worker, lease } = await asking(harness, [question('a', { question: 'old' })])
    await engine.answer(lease.id, 'ann', answering('a'))
    await (await worker.nextLease()).ask([question('a', { question: 'new', times: 2 })], undefined)
    await engine.answer(lease.id, 'ann', answering('a~2'))
    const { answers, open } = (await worker.nextLease()).journal
    expect(answers.get('a')).toEqual({ question: 'new', response: answerTo('a~2') })
    expect(open.get('a')).toMatchObject({ question: 'new', times: 2 })
  })

  test('a key that was answered before the task was made is not used again', async () => {
    const engine = await harness.engine()
    const journal = newJournal(randomUUID())
    journal.answers.set('a', { question: undefined, response: answerTo('before') })
    const { id } = await engine.create(newTask({ journal }))
    const worker = harness.worker(engine)
    await (await worker.nextLease()).ask([question('a')], undefined)
    expect(keysOf(await engine.read(id, 'ann'))).toEqual(['a~2'])
    await engine.answer(id, 'ann', answering('a', 'a~2'))
    expect((await worker.nextLease()).journal.answers.get('a')?.response).toEqual(answerTo('a~2'))
  })

  test('answers without an open question change nothing', async () => {
    const { engine, lease } = await asking(harness, [question('a')])
    const before = await engine.read(lease.id, 'ann')
    const nothing = { ...answering('b', 'a~2', '', '__proto__', 'a\u0000'), refused: new Set(['c', 'constructor']) }
    expect(await engine.answer(lease.id, 'ann', nothing)).toEqual(before)
    expect(await engine.read(lease.id, 'ann')).toEqual(before)
  })

  test('an answer that comes twice counts the first time', async () => {
    const { engine, worker, lease } = await asking(harness, [question('a'), question('b')])
    await engine.answer(lease.id, 'ann', answering('a'))
    const late = new Map([['a', { action: 'decline' }]])
    expect(keysOf(await engine.answer(lease.id, 'ann', { accepted: late, refused: new Set(['a']) }))).toEqual(['b'])
    await engine.answer(lease.id, 'ann', answering('b'))
    const next = await worker.nextLease()
    expect(next.journal.answers.get('a')?.response).toEqual(answerTo('a'))
    expect(await engine.answer(lease.id, 'ann', answering('a', 'b'))).toMatchObject({ status: 'working' })
    await next.end({ status: 'completed', result: {} })
  })

  test('answers to a task that has ended change nothing', async () => {
    const { engine, lease } = await asking(harness, [question('a')])
    const cancelled = await engine.cancel(lease.id, 'ann')
    expect(await engine.answer(lease.id, 'ann', answering('a'))).toEqual(cancelled)
    expect(await engine.answer(lease.id, 'ann', { ...answering(), refused: new Set(['a']) })).toEqual(cancelled)
    expect(await engine.read(lease.id, 'ann')).toEqual(cancelled)
  })

  test('of many answers at once, by several processes, none is lost', async () => {
    const keys = Array.from({ length: 12 }, (_, at) => `key ${at}`)
    const { engine, worker, lease } = await asking(
      harness,
      keys.map((key) => question(key)),
    )
    const [second, third] = [await harness.engine(), await harness.engine()]
    const engineAt = (at: number) => (at % 3 === 0 ? engine : at % 3 === 1 ? second : third)
    await Promise.all(keys.map((key, at) => engineAt(at).answer(lease.id, 'ann', answering(key))))
    const { answers } = (await worker.nextLease()).journal
    for (const key of keys) expect(answers.get(key)?.response).toEqual(answerTo(key))
    expect(worker.untaken).toBe(0)
  })

  test('a run that ends its lease without questions is followed by the next at once', async () => {
    const { worker } = await asking(harness, [])
    const { own, round } = (await worker.nextLease()).journal
    expect([own, round]).toEqual(['remembered', 1])
  })
}

interface Asking {
  readonly engine: TaskEngine
  readonly worker: ManualWorker
  readonly lease: Lease
}

/** A task that waits for answers to these questions. */
/** The lease of a new task. */
async function leaseOf(harness: ContractHarness, engine: TaskEngine): Promise<Lease> {
  await engine.create(newTask())
  return harness.worker(engine).nextLease()
}

async function asking(harness: ContractHarness, questions: readonly NewQuestion[]): Promise<Asking> {
  const engine = await harness.engine()
  await engine.create(newTask())
  const worker = harness.worker(engine)
  const lease = await worker.nextLease()
  await lease.ask(questions, 'remembered')
  return { engine, worker, lease }
}

function refusing(key: string | undefined) {
  return { accepted: new Map(), refused: new Set(key === undefined ? [] : [key]) }
}
