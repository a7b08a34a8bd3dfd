/** The tools of the simulated servers, and what they did. */
import { z } from 'zod'
import { text } from '../../src/server/catalog/content.ts'
import { toolEntry } from '../../src/server/catalog/entries.ts'
import type { DetachableContext } from '../../src/server/internal.ts'
import type { Random } from '../fuzz/random.ts'
import type { World } from './world.ts'

/** One run of a function that must run once. */
export interface Effect {
  readonly call: string
  /** The number by which the call tells of it. */
  readonly number: number
  /** The process that ran it. */
  readonly process: string
  readonly at: number
}

export interface ToolWorld {
  readonly world: World
  readonly random: Random
  /** Told of each effect. */
  readonly onEffect: (effect: Effect) => void
  /** Told of each run of a handler. Returns the function that is called at its end. */
  readonly onRun: (call: string, process: string) => () => void
}

/** `asks`: how many questions it asks. `effect`: how its effect is guarded. */
export const TOOLS = {
  askOnce: { asks: 1, effect: 'none' },
  askTwice: { asks: 2, effect: 'none' },
  stepBetween: { asks: 2, effect: 'step' },
  onceBetween: { asks: 2, effect: 'once' },
  onceLast: { asks: 1, effect: 'once' },
} as const

export type ToolName = keyof typeof TOOLS

const input = z.object({ call: z.string() })
const schema = z.object({ answer: z.string() })

/** The tools of one process. */
export function toolEntries({ world, random, onEffect, onRun }: ToolWorld, process: string) {
  const effectOf = (call: string) => async (): Promise<number> => {
    const number = 1 + random.below(2 ** 31)
    onEffect({ call, number, process, at: world.now })
    world.note(() => `${process} runs the effect ${number} of ${call}`)
    await new Promise((resolve) => setTimeout(resolve, 1 + random.below(random.chance(0.2) ? 2000 : 50)))
    return number
  }
  const runOf = async (name: ToolName, call: string, ctx: DetachableContext) => {
    const { asks, effect } = TOOLS[name]
    const first = await ctx.ask('first', { message: `${call} first`, schema })
    let number = 0
    if (effect === 'step') number = await ctx.step('effect', effectOf(call))
    if (effect === 'once') number = await ctx.once('effect', effectOf(call))
    const told = `${call} second ${number}`
    const second = asks === 2 ? await ctx.ask('second', { message: told, schema }) : undefined
    return text(`${call} ${number} ${first.answer} ${second?.answer ?? '-'}`)
  }
  return (Object.keys(TOOLS) as ToolName[]).map((name) =>
    toolEntry(name, { description: name, input }, (args: unknown, ctx: DetachableContext) => {
      const { call } = input.parse(args)
      const end = onRun(call, process)
      return runOf(name, call, ctx).finally(end)
    }),
  )
}
