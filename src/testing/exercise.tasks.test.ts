/** Tools that run as tasks, and questions that another person answers. */
import type { Context, Server } from 'pannier/server'
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { type Answers, exercise, type ExerciseOptions, type MakeServer, recorder } from 'pannier/testing'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'

const effect = recorder()
const confirmation = z.object({ ok: z.boolean() })
const call = { tool: 'work', arguments: { id: 7 } }
const ask = (ctx: Context, key: string, by?: string) =>
  ctx.ask(key, { message: `${key}?`, schema: confirmation, ...(by !== undefined && { by }) })

type TaskHandler = (args: { id: number }, ctx: Context) => Promise<string>

const asTask =
  (handler: TaskHandler): MakeServer =>
  (overrides) =>
    withTask(handler, overrides)

function withTask(handler: TaskHandler, overrides: Parameters<MakeServer>[0]): Server {
  const about = { description: 'Works', input: z.object({ id: z.number() }), task: 'required' } as const
  return createServer({ name: 'exercised', version: '1', ...overrides }).tool('work', about, handler)
}

async function codesOf(makeServer: MakeServer, answers: Answers, options: ExerciseOptions = {}): Promise<string[]> {
  const { findings } = await exercise(makeServer, call, answers, { tasks: true, ...options })
  return findings.map(({ code }) => code)
}

const first = { first: { ok: true } }

const manager = { id: 'mia', claims: { role: 'manager' } }
const principals = { caller: { id: 'ann' }, other: { id: 'bob' }, approvers: { approve: manager } }

describe('a sound task', () => {
  test('has a report with a round for each of its runs', async () => {
    const handler: TaskHandler = async ({ id }, ctx) => {
      await ctx.step('draft', () => effect('draft', id))
      await ask(ctx, 'first')
      await ctx.once('charge', () => effect('charge', id))
      return `Done with ${id}.`
    }
    expect(await exercise(asTask(handler), call, first, { tasks: true })).toEqual({
      name: 'work',
      ok: true,
      result: { resultType: 'complete', content: [{ type: 'text', text: 'Done with 7.' }] },
      rounds: [
        { asked: [], steps: [], effects: [], stateBytes: 0 },
        { asked: ['first'], steps: ['draft'], effects: ['draft'], stateBytes: 0 },
        { asked: [], steps: ['charge'], effects: ['charge'], stateBytes: 0 },
      ],
      findings: [],
    })
  })

  test('may wait for an approver, whom the handler knows then', async () => {
    const handler: TaskHandler = async (_, ctx) => {
      await ask(ctx, 'first')
      await ask(ctx, 'approve', 'role:manager')
      return `Approved by ${ctx.answeredBy('approve')?.subject}.`
    }
    const report = await exercise(
      asTask(handler),
      call,
      { ...first, approve: { ok: true } },
      { tasks: true, principals },
    )
    expect(report.findings).toEqual([])
    expect(report.result).toMatchObject({ content: [{ text: 'Approved by mia.' }] })
    expect(report.rounds.map(({ asked }) => asked)).toEqual([[], ['first'], ['approve'], []])
  })

  test('may ask the caller and an approver at once, and may be declined', async () => {
    const handler: TaskHandler = async (_, ctx) => {
      await Promise.all([ask(ctx, 'first'), ask(ctx, 'approve', 'role:manager')])
      return 'Done.'
    }
    const answers = { ...first, approve: 'decline' } as const
    expect(await codesOf(asTask(handler), answers, { principals, expectError: true })).toEqual([])
  })

  test('may begin as an ordinary call', async () => {
    const makeServer: MakeServer = (overrides) =>
      createServer({ name: 'exercised', version: '1', ...overrides }).tool(
        'work',
        { description: 'Works', input: z.object({ id: z.number() }), task: 'required', startsAs: 'call' },
        async (_, ctx) => {
          await ask(ctx, 'first')
          const task = await ctx.detach()
          await task.step('print', () => effect('print'))
          await ask(task, 'second')
          return 'Done.'
        },
      )
    const report = await exercise(makeServer, call, { ...first, second: { ok: true } }, { tasks: true })
    expect(report.findings).toEqual([])
    expect(report.rounds.map(({ asked }) => asked)).toEqual([['first'], [], ['second'], []])
  })
})

describe('a fault of a task is found', () => {
  test('an effect outside step and once, before and after the last question', async () => {
    const before = asTask(async (_, ctx) => {
      effect('mail')
      await ask(ctx, 'first')
      return 'Sent.'
    })
    const report = await exercise(before, call, first, { tasks: true })
    expect(report.findings).toMatchObject([{ code: 'EFFECT_REPEATED', round: 2 }])
    expect(report.findings[0]?.sentence).toContain('its process ended before')
    const after = asTask(async (_, ctx) => {
      await ask(ctx, 'first')
      effect('mail')
      return 'Sent.'
    })
    expect(await codesOf(after, first)).toEqual(['EFFECT_REPEATED'])
  })

  test('memory of an instance that a later run reads', async () => {
    const makeServer: MakeServer = (overrides) => {
      const drafts = new Map<number, string>()
      return withTask(async ({ id }, ctx) => {
        await ctx.step('draft', () => void drafts.set(id, 'a draft'))
        await ask(ctx, 'first')
        return `Sent ${drafts.get(id)}`
      }, overrides)
    }
    expect(await codesOf(makeServer, first, { reset: () => {} })).toContain('PROCESS_DEPENDENT')
  })

  test('a failure, and an answer to a question that is never asked', async () => {
    const makeServer = asTask(async (_, ctx) => {
      await ask(ctx, 'first')
      throw new Error('The printer is on fire.')
    })
    expect(await codesOf(makeServer, { ...first, second: { ok: true } })).toEqual([
      'RESULT_UNEXPECTED',
      'ANSWER_UNUSED',
    ])
  })

  test('a principal that is not asked for', async () => {
    const makeServer: MakeServer = (overrides) =>
      withTask(async (_, ctx) => `Done, ${(await ask(ctx, 'first')).ok}`, {
        ...overrides,
        principal: () => ({ id: 'all' }),
      })
    expect(await codesOf(makeServer, first, { principals })).toEqual(['PRINCIPAL_NOT_BOUND'])
  })
})

describe('an exercise of a task that is itself at fault says so', () => {
  const approved = asTask(async (_, ctx) => `Approved: ${(await ask(ctx, 'approve', 'role:manager')).ok}`)
  const approve = { approve: { ok: true } }

  test('by a tool that runs only as a task, where the option is missing', async () => {
    await expect(exercise(approved, call, approve, { principals })).rejects.toThrow(/needs a task store/)
    const withStore: MakeServer = (overrides) => approved({ ...overrides, tasks: sqliteTasks({ path: ':memory:' }) })
    await expect(exercise(withStore, call, approve, { principals })).rejects.toMatchObject({
      code: 'CALL_REFUSED',
      message: expect.stringContaining('Pass { tasks: true } to exercise.'),
    })
  })

  test('by an approver who is missing, or who may not answer', async () => {
    const { approvers: _, ...withoutApprovers } = principals
    for (const given of [withoutApprovers, { ...principals, approvers: { approve: { id: 'carl' } } }])
      await expect(exercise(approved, call, approve, { tasks: true, principals: given })).rejects.toMatchObject({
        code: 'ANSWER_MISSING',
        message: expect.stringContaining('It waits for role:manager.'),
      })
  })

  test('by an approver of a question that the caller answers', async () => {
    const unguarded = asTask(async (_, ctx) => `Approved: ${(await ask(ctx, 'approve')).ok}`)
    await expect(exercise(unguarded, call, approve, { tasks: true, principals })).rejects.toMatchObject({
      code: 'ANSWER_REFUSED',
      message: expect.stringContaining('by'),
    })
  })

  test('by an answer that does not fit its form, also where only the handler finds out', async () => {
    const makeServer = asTask(async (_, ctx) => {
      const schema = z.object({ ok: z.boolean() }).refine(({ ok }) => ok)
      await ctx.ask('first', { message: 'Well?', schema })
      return 'Done.'
    })
    for (const ok of ['perhaps', false])
      await expect(exercise(makeServer, call, { first: { ok } }, { tasks: true })).rejects.toMatchObject({
        code: 'ANSWER_REFUSED',
        message: expect.stringContaining('"first"'),
      })
    let times = 0
    const second: Answers = { first: () => ({ ok: times++ % 2 === 1 }) }
    expect(await codesOf(makeServer, second, {})).toEqual([])
  })
})
