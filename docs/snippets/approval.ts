/** The code of docs/guides/approval.md. */
// #region imports
import { type Authenticator, createServer, type Logger, type Server, type Tasks } from 'pannier/server'
import { z } from 'zod'

/** What the tool acts on. */
export interface Accounting {
  /** Tells the managers that a task waits for one of them. */
  notify(taskId: string, what: string): Promise<void>
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
      if (!approve) return `The refund for ${what} was not approved.`
      const manager = String(ctx.answeredBy('approve'))
      const { receipt } = await ctx.once('pay', (key) => accounting.pay(cents, manager, key))
      return `Refunded ${what}, approved by ${manager}; the receipt is ${receipt}.`
    },
  )
  // #endregion tool
  return server
}
