/** A server with one tool that moves money; `exercise.ts` beside it tests the tool. */
import { createServer, type Server, type ServerOptions } from 'pannier/server'
import * as z from 'zod'

export interface Bank {
  /** Returns the number of the receipt. A repeated key moves no money. */
  refund(order: string, cents: number, idempotencyKey: string): Promise<string>
}

// #region tool
const amountForm = z.object({ cents: z.number().int().min(1) })

/** What the server needs is passed in, so that a test can pass something else. */
export function refundServer(bank: Bank, options: Partial<ServerOptions> = {}): Server {
  return createServer({ name: 'refunds', version: '1.0.0', ...options }).tool(
    'refund',
    { description: 'Refunds an order', input: z.object({ order: z.string() }) },
    async ({ order }, ctx) => {
      const { cents } = await ctx.ask('amount', { message: `How much of ${order}, in cents?`, schema: amountForm })
      const receipt = await ctx.once('refund', (key) => bank.refund(order, cents, key))
      return `Refunded ${cents} cents, receipt ${receipt}.`
    },
  )
}
// #endregion tool
