import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type Journal, newJournal } from '../../../src/journal/index.ts'
import type { Lease, TaskEngine } from '../../../src/tasks/engine.ts'
import type { ManualWorker } from './manualWorker.ts'
import { answering, answerTo, newTask, question, type ContractHarness } from './harness.ts'

const oddKeys = ['__proto__', 'constructor', '😀', '\ud83d', 'a\u0000b', '', ' ', '%~2', 'x'.repeat(256)]

/** The journal that a run has committed, as the next run finds it. */
export function declareJournals(harness: ContractHarness): void {
  test('the journal of a call from before it became a task is in the journal of its first run', async () => {
    const engine = await harness.engine()
    const journal = gathered()
    await engine.create(newTask({ journal }))
    const lease = await harness.worker(engine).nextLease()
    expect(lease.journal.steps).toEqual(journal.steps)
    expect(lease.journal.answers).toEqual(journal.answers)
    expect(lease.journal.open.get('😀')).toMatchObject({ question: 'print', times: 2 })
    expect(lease.journal.open.get('__proto__')).toMatchObject({ question: undefined, times: 1 })
    expect(lease.journal).toMatchObject({ id: journal.id, round: 3, own: { at: [1, null] }, begunAt: 1_700_000_000 })
  })

  test('a committed step is in the journal of every later run, under any key', async () => {
    const { engine, worker, lease } = await started(harness)
    for (const [at, key] of oddKeys.entries()) await lease.step(key, { value: [at, key] })
    await lease.step('nothing', {})
    await lease.step('null', { value: null })
    await lease.giveBack()
    const { steps } = (await worker.nextLease()).journal
    expect([...steps.keys()].toSorted()).toEqual([...oddKeys, 'nothing', 'null'].toSorted())
    for (const [at, key] of oddKeys.entries()) expect(steps.get(key)).toEqual({ value: [at, key] })
    expect([steps.get('nothing'), steps.get('null')]).toEqual([{}, { value: null }])
    expect((await engine.list('ann', undefined, 10)).tasks).toHaveLength(1)
  })

  test('changes of a journal that were not committed are not in the journal of the next run', async () => {
    const { worker, lease } = await started(harness)
    lease.journal.steps.set('a', { value: 1 })
    lease.journal.own = 'mine'
    await lease.giveBack()
    const { steps, own } = (await worker.nextLease()).journal
    expect([steps.size, own]).toEqual([0, undefined])
  })

  test('a claim is fresh once, and lasts over several runs until it is withdrawn', async () => {
    const { worker, lease } = await started(harness)
    expect(await lease.claim('pay')).toBe('fresh')
    expect(await lease.claim('pay')).toBe('running')
    expect(await lease.claim('__proto__')).toBe('fresh')
    await lease.giveBack()
    const second = await worker.nextLease()
    expect(second.journal.steps.size).toBe(0)
    expect(await second.claim('pay')).toBe('running')
    await second.unclaim('pay')
    expect(await second.claim('pay')).toBe('fresh')
    await second.unclaim('never claimed')
  })

  test('a claimed step that is committed is done; withdrawing its claim does not undo it', async () => {
    const { worker, lease } = await started(harness)
    await lease.claim('pay')
    await lease.step('pay', { value: 'receipt' })
    await lease.unclaim('pay')
    expect(await lease.claim('pay')).toBe('running')
    await lease.giveBack()
    expect((await worker.nextLease()).journal.steps).toEqual(new Map([['pay', { value: 'receipt' }]]))
  })

  test('answers, the handler’s state and the round are in the journal after a question', async () => {
    const { engine, worker, lease } = await started(harness)
    await lease.ask([question('__proto__', { times: 2 }), question('b', { question: undefined })], { seen: '😀' })
    await engine.answer(lease.id, 'ann', answering('__proto__', 'b'))
    const { answers, open, own, round } = (await worker.nextLease()).journal
    expect(answers.get('__proto__')).toEqual({ question: 'fingerprint of __proto__', response: answerTo('__proto__') })
    expect(answers.get('b')).toEqual({ question: undefined, response: answerTo('b') })
    expect(open.get('__proto__')).toMatchObject({ question: 'fingerprint of __proto__', times: 2 })
    expect(open.get('b')).toMatchObject({ question: undefined, times: 1 })
    expect([own, round]).toEqual([{ seen: '😀' }, 1])
  })

  test('the handler’s state is removed when the next question comes without one', async () => {
    const { engine, worker, lease } = await started(harness)
    await lease.ask([question('a')], 'first')
    await engine.answer(lease.id, 'ann', answering('a'))
    const second = await worker.nextLease()
    await second.ask([question('b')], undefined)
    await engine.answer(lease.id, 'ann', answering('b'))
    expect((await worker.nextLease()).journal).toMatchObject({ own: undefined, round: 2 })
  })

  test('a large entry is kept; one above the limit is refused by itself', async () => {
    const { engine, worker, lease } = await started(harness, { maxEntryBytes: 1_000_000 })
    const [fits, tooLarge] = ['x'.repeat(999_000), 'é'.repeat(500_000)]
    const refusal = { code: 'TASK_ENTRY_TOO_LARGE' }
    await expect(engine.create(newTask({ args: { tooLarge } }))).rejects.toMatchObject(refusal)
    await lease.step('fits', { value: fits })
    await expect(lease.step('too large', { value: tooLarge })).rejects.toMatchObject(refusal)
    await expect(lease.ask([question('a')], tooLarge)).rejects.toMatchObject(refusal)
    await lease.ask([question('a')], fits)

    const answer = (text: string) =>
      engine.answer(lease.id, 'ann', { accepted: new Map([['a', { text }]]), refused: new Set() })
    await expect(answer(tooLarge)).rejects.toMatchObject(refusal)
    expect(await engine.read(lease.id, 'ann')).toMatchObject({ status: 'input_required' })
    await answer(fits)

    const second = await worker.nextLease()
    expect(second.journal.answers.get('a')?.response['text']).toBe(fits)
    expect(second.journal.steps).toEqual(new Map([['fits', { value: fits }]]))
    await expect(second.end({ status: 'completed', result: { tooLarge } })).rejects.toMatchObject(refusal)
    await second.end({ status: 'completed', result: { fits } })
    expect((await engine.read(lease.id, 'ann'))?.result).toEqual({ fits })
  })
}

interface Started {
  readonly engine: TaskEngine
  readonly worker: ManualWorker
  readonly lease: Lease
}

async function started(harness: ContractHarness, options = {}): Promise<Started> {
  const engine = await harness.engine(options)
  await engine.create(newTask())
  const worker = harness.worker(engine)
  return { engine, worker, lease: await worker.nextLease() }
}

function gathered(): Journal {
  return {
    ...newJournal(randomUUID()),
    id: randomUUID(),
    round: 3,
    answers: new Map([
      ['__proto__', { question: undefined, response: answerTo('__proto__') }],
      ['😀', { question: 'print', response: answerTo('😀') }],
    ]),
    steps: new Map(oddKeys.map((key, at) => [key, at === 0 ? {} : { value: { key } }])),
    open: new Map([['😀', { question: 'print', times: 2 }]]),
    own: { at: [1, null] },
    begunAt: 1_700_000_000,
  }
}
