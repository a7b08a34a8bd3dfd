import { createServer, type Server, type ServerOptions } from 'pannier/server'
import { assertSound, exercise } from 'pannier/testing'
import * as z from 'zod'

// #region tool
export function expenseServer(options: Partial<ServerOptions> = {}): Server {
  return createServer({ name: 'expenses', version: '1.0.0', ...options }).tool(
    'expense',
    { description: 'Pays an expense', input: z.object({ cents: z.number().int() }), task: 'required' },
    async ({ cents }, ctx) => {
      const schema = z.object({ approve: z.boolean() })
      const { approve } = await ctx.ask('approve', { message: `Pay ${cents} cents?`, schema, by: 'role:manager' })
      return approve ? `Paid, approved by ${ctx.answeredBy('approve')?.subject}.` : 'Not paid.'
    },
  )
}
// #endregion tool

// #region exercise
const manager = { id: 'mia', claims: { role: 'manager' } }

export const report = await exercise(
  expenseServer, // gets the overrides as its options
  { tool: 'expense', arguments: { cents: 950 } },
  { approve: { approve: true } },
  { tasks: true, principals: { caller: { id: 'ann' }, other: { id: 'bob' }, approvers: { approve: manager } } },
)
assertSound(report)
// #endregion exercise
