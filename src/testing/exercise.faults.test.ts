/** Tools with typical faults are found out, each by its own finding. */
import { createServer } from 'pannier/server'
import { exercise, type MakeServer } from 'pannier/testing'
import { describe, expect, test, vi } from 'vitest'
import {
  always,
  answers,
  ask,
  bothAnswers,
  call,
  codesOf,
  confirmation,
  effect,
  type Handler,
  withTool,
} from '../../test/testing/fixtures/work.ts'

describe('a fault is found', () => {
  test('an effect outside step and once, before a later question', async () => {
    const codes = await codesOf(
      always(async (_, ctx) => {
        await ask(ctx, 'first')
        effect('mail')
        await ask(ctx, 'second')
        return 'Sent.'
      }),
      {},
      bothAnswers,
    )
    expect(codes).toEqual(['EFFECT_REPEATED'])
  })

  test('an effect outside step and once, after the last question', async () => {
    const report = await exercise(
      always(async (_, ctx) => {
        await ask(ctx, 'first')
        effect('mail')
        return 'Sent.'
      }),
      call,
      answers,
    )
    expect(report.findings).toMatchObject([{ code: 'EFFECT_REPEATED', round: 2 }])
    expect(report.findings[0]?.sentence).toContain('"mail" ran twice when round 2 was sent twice')
  })

  test('an effect beside a step that is under way', async () => {
    const codes = await codesOf(
      always(async (_, ctx) => {
        await ask(ctx, 'first')
        const slow = ctx.step('slow', () => new Promise<void>((resolve) => setTimeout(resolve, 2)))
        effect('mail')
        await slow
        return 'Sent.'
      }),
    )
    expect(codes).toEqual(['EFFECT_REPEATED'])
  })

  test('a once in the first round, unless it has an id of the caller', async () => {
    const charging = (options: (id: number) => { id?: string }) =>
      always(async ({ id }, ctx) => {
        await ctx.once('charge', () => effect('charge', id), options(id))
        await ask(ctx, 'first')
        return 'Charged.'
      })
    const report = await exercise(
      charging(() => ({})),
      call,
      answers,
    )
    expect(report.findings).toMatchObject([{ code: 'ONCE_REPEATED', round: 1 }])
    expect(report.findings[0]?.sentence).toContain('nothing connects the first request of a call with its repetition')
    expect(await codesOf(charging((id) => ({ id: `order ${id}` })))).toEqual([])
  })

  test('a once before a question to a client that cannot be asked, unless the tool says that it asks', async () => {
    const charging =
      (needs: { needs?: ['elicitation'] }): MakeServer =>
      (overrides) =>
        createServer({ name: 'exercised', version: '1', ...overrides }).tool(
          'work',
          { description: 'Works', ...needs },
          async (_, ctx) => {
            await ctx.once('charge', () => effect('charge'), { id: 'order 7' })
            await ask(ctx, 'first')
            return 'Charged.'
          },
        )
    const { findings } = await exercise(charging({}), { tool: 'work' }, answers)
    expect(findings).toMatchObject([{ code: 'EFFECT_BEFORE_ASKING', round: 1 }])
    expect(findings[0]?.sentence).toContain('The once "charge" ran, and then the call failed')
    expect((await exercise(charging({ needs: ['elicitation'] }), { tool: 'work' }, answers)).findings).toEqual([])
  })

  test('an ask without await', async () => {
    const report = await exercise(
      always(async (_, ctx) => {
        void ask(ctx, 'first')
        return 'Sent.'
      }),
      call,
    )
    expect(report.findings).toMatchObject([{ code: 'RESULT_UNEXPECTED' }, { code: 'NOT_AWAITED', round: 1 }])
    expect(report.findings[1]?.sentence).toContain('did not wait for the question "first"')
  })

  test('work in a catch block that takes the end of a round for a failure', async () => {
    const codes = await codesOf(
      always(async (_, ctx) => {
        try {
          await ask(ctx, 'first')
        } catch (error) {
          effect('roll back')
          throw error
        }
        return 'Done.'
      }),
    )
    expect(codes).toEqual(['EFFECT_AFTER_END'])
  })

  test('work after a catch block that swallowed the end of a round', async () => {
    const codes = await codesOf(
      always(async (_, ctx) => {
        const answer = await ask(ctx, 'first').catch(() => undefined)
        if (answer === undefined) effect('assume yes')
        return 'Done.'
      }),
    )
    expect(codes).toEqual(['EFFECT_AFTER_END'])
  })

  test('a step whose key changes between rounds', async () => {
    const codes = await codesOf(
      always(async (_, ctx) => {
        await ctx.step(`link-${Date.now()}`, () => 1)
        await ask(ctx, 'first')
        return 'Done.'
      }),
    )
    expect(codes).toEqual(['STEP_REPEATED'])
  })

  test.each([
    ['chance', () => Math.random()],
    ['time', () => Date.now()],
  ])('a question that depends on %s', async (_, value) => {
    const report = await exercise(
      always(async (_args, ctx) => {
        await ask(ctx, 'first', `Type ${value()}`)
        return 'Done.'
      }),
      call,
      answers,
    )
    expect(report).toMatchObject({ ok: false, result: undefined, findings: [{ code: 'QUESTION_CHANGED' }] })
  })

  test('a question that depends on chance and is not pinned', async () => {
    const codes = await codesOf(
      always(async (_, ctx) => {
        await ctx.ask('first', { message: `Type ${Math.random()}`, schema: confirmation, pin: false })
        return 'Done.'
      }),
    )
    expect(codes).toEqual(['QUESTION_CHANGED'])
  })

  test('a result that depends on chance, unless it is left out of the comparison', async () => {
    const makeServer = always(async (_, ctx) => {
      await ask(ctx, 'first')
      return `Done, ${Math.random()}`
    })
    expect(await codesOf(makeServer)).toEqual(['RESULT_CHANGED'])
    expect(await codesOf(makeServer, { normalize: () => null })).toEqual([])
  })

  test('a counter in a module', async () => {
    let calls = 0
    const codes = await codesOf(
      always(async (_, ctx) => {
        await ask(ctx, 'first')
        return `Call ${++calls}`
      }),
    )
    expect(codes).toEqual(['RESULT_CHANGED'])
  })

  test('memory of an instance that a later round reads', async () => {
    const report = await exercise(
      (overrides) => {
        const drafts = new Map<number, string>()
        const handler: Handler = async ({ id }, ctx) => {
          if (!drafts.has(id)) drafts.set(id, `draft by ${ctx.inputResponses['first'] === undefined}`)
          await ask(ctx, 'first')
          return `Sent ${drafts.get(id)}`
        }
        return withTool(handler, overrides)
      },
      call,
      answers,
    )
    expect(report.findings).toMatchObject([{ code: 'PROCESS_DEPENDENT', round: 2 }])
  })

  test('memory of a module that a later round reads and then forgets', async () => {
    let draft: string | undefined
    const handler: Handler = async ({ id }, ctx) => {
      if (ctx.inputResponses['first'] === undefined) draft = `draft ${id}`
      await ask(ctx, 'first')
      if (draft === undefined) throw new Error('There is no draft.')
      const sent = draft
      draft = undefined
      return `Sent ${sent}`
    }
    expect(await codesOf(always(handler))).toContain('PROCESS_DEPENDENT')
  })

  test('memory of a module that is only ever written, when makeServer imports the module anew', async () => {
    const stale: MakeServer = async (overrides) => {
      const { makeServer } = await import('../../test/testing/fixtures/remembering.ts')
      return makeServer(overrides)
    }
    const anew: MakeServer = (overrides) => {
      vi.resetModules()
      return stale(overrides)
    }
    const report = await exercise(anew, { tool: 'send', arguments: { id: 1 } }, answers)
    expect(report.findings).toMatchObject([{ code: 'PROCESS_DEPENDENT', round: 2 }])
    expect((await exercise(stale, { tool: 'send', arguments: { id: 1 } }, answers)).ok).toBe(true)
  })

  test('a call that fails after its question, unless that is expected', async () => {
    const makeServer = always(async (_, ctx) => {
      await ask(ctx, 'first')
      throw new Error('The printer is on fire.')
    })
    const report = await exercise(makeServer, call, answers)
    expect(report.findings).toMatchObject([{ code: 'RESULT_UNEXPECTED', round: 2 }])
    expect(report.findings[0]?.sentence).toContain('The printer is on fire.')
    expect(await codesOf(makeServer, { expectError: true })).toEqual([])
  })

  test('a call that succeeds although an error is expected', async () => {
    const makeServer = always(async (_, ctx) => {
      await ask(ctx, 'first')
      return 'Done.'
    })
    expect(await codesOf(makeServer, { expectError: true })).toEqual(['RESULT_UNEXPECTED'])
  })

  test('an answer to a question that is never asked', async () => {
    const makeServer = always(async (_, ctx) => {
      await ask(ctx, 'first')
      return 'Done.'
    })
    const report = await exercise(makeServer, call, { ...answers, frist: { ok: true }, third: { ok: true } })
    expect(report.findings).toMatchObject([{ code: 'ANSWER_UNUSED' }, { code: 'ANSWER_UNUSED' }])
    expect(report.findings[0]?.sentence).toContain('"frist"')
  })

  test('an approval that no caller can give in an ordinary call', async () => {
    const makeServer = always(async (_, ctx) => {
      await ctx.ask('first', { message: 'Approve it?', schema: confirmation, by: 'role:manager' })
      return 'Done.'
    })
    const principals = { caller: { id: 'ann' }, other: { id: 'bob' } }
    const report = await exercise(makeServer, call, answers, { principals })
    expect(report.findings.map(({ code }) => code)).toEqual(['RESULT_UNEXPECTED', 'ANSWER_UNUSED'])
    expect(report.findings[0]?.sentence).toContain('role:manager')
  })

  test('a call that never ends', async () => {
    const handler: Handler = async (_, ctx) => {
      for (let round = 1; ; round++) await ask(ctx, `round ${round}`)
    }
    const yesToAll = new Proxy(
      {},
      { getOwnPropertyDescriptor: () => ({ configurable: true, value: 1 }), get: () => ({ ok: true }) },
    )
    const report = await exercise(always(handler), call, yesToAll, { maxRounds: 7 })
    expect(report.findings).toMatchObject([{ code: 'NEVER_ENDS', round: 7 }])
  })
})
