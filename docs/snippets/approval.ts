/** The code of docs/how-to/approval.md. */
// #region imports
import { type Authenticator, createServer, hasClaim, type Logger, type Server, type Tasks } from 'pannier/server'
import * as z from 'zod'

/** What the tool acts on. */
export interface Accounting {
  /** Tells the managers that a task waits for one of them, and notes it in their list. */
  notify(taskId: string, what: string): Promise<void>
  /** Takes it off the list. */
  decided(taskId: string): Promise<void>
  waiting(): Promise<{ taskId: string; what: string }[]>
  pay(cents: number, approvedBy: string, idempotencyKey: string): Promise<{ receipt: string }>
}
// #endregion imports

/** Where tasks are stored, and how callers are known: with `bearer()`, for one. */
interface Setting {
  readonly tasks: Tasks
  readonly principal: Authenticator
  readonly accounting: Accounting
  readonly logger: Logger
}

export function expenseServer({ accounting, ...setting }: Setting): Server {
  const server = createServer({ name: 'expenses', version: '1.0.0', ...setting })
  // #region tool
  const input = z.object({ what: z.string(), cents: z.number().int().positive() })
  server.tool(
    'refund',
    { description: 'Refunds an expense.', input, task: 'required' },
    async ({ what, cents }, ctx) => {
      await ctx.step('notify', () => accounting.notify(String(ctx.taskId), what))
      const { approve } = await ctx.ask('approve', {
        message: `${ctx.principal?.subject} asks for ${cents / 100} € for ${what}. Approve it?`,
        schema: z.object({ approve: z.boolean() }),
        by: 'role:manager',
        fourEyes: true, // a manager does not approve an expense of their own
      })
      await ctx.step('decided', () => accounting.decided(String(ctx.taskId)))
      if (!approve) return `The refund for ${what} was not approved.`
      const manager = String(ctx.answeredBy('approve')?.subject)
      const { receipt } = await ctx.once('pay', (key) => accounting.pay(cents, manager, key))
      return `Refunded ${what}, approved by ${manager}; the receipt is ${receipt}.`
    },
  )
  // #endregion tool
  // #region list
  server.tool(
    'waiting_refunds',
    {
      description: 'Lists the refunds that wait for a manager, with the ids of their tasks.',
      allow: (who) => who !== undefined && hasClaim(who, 'role:manager'),
    },
    async () => {
      const waiting = await accounting.waiting()
      return waiting.map(({ taskId, what }) => `${taskId}: ${what}`).join('\n') || 'Nothing waits.'
    },
  )
  // #endregion list
  return server
}
