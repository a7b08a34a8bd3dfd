/** The tool of SEP-1685. CARRY says where its state is between rounds, and STORE is the file of a store. */
import { type CarryMode, createServer } from 'pannier/server'
import { sqliteCarryStore } from 'pannier/state'
import * as z from 'zod'
import { listenAsInstance } from '../listen.ts'

const { INSTANCE: name = 'A', CARRY: carry, STORE: path } = process.env

const server = createServer({
  name: 'work-items',
  version: '1.0.0',
  title: `Instance ${name}`,
  ...(carry !== undefined && { carry: carry as CarryMode }),
  ...(path !== undefined && { store: sqliteCarryStore({ path }) }),
  onDifference: ({ reason }) => process.send?.({ difference: reason }),
})

// #region tool
const resolution = z.enum(['Fixed', "Won't Fix", 'Duplicate', 'By Design']).describe('Resolution type for this bug')
const duplicateOfId = z.number().describe('Work item ID of the original bug')
const input = z.object({ workItemId: z.number(), fields: z.record(z.string(), z.string()) })

server.tool('update_work_item', { description: 'Changes a work item.', input }, async ({ workItemId }, ctx) => {
  const resolved = await ctx.ask('resolution', {
    message: `Resolving Bug #${workItemId} requires a resolution. How was this bug resolved?`,
    schema: z.object({ resolution }),
  })
  const original = await ctx.ask('duplicate_of', {
    message: 'Since this is a duplicate, which work item is the original?',
    schema: z.object({ duplicateOfId }),
  })
  return `Bug #${workItemId} resolved as ${resolved.resolution} of Bug #${original.duplicateOfId}. State set to Resolved and duplicate link created.`
})
// #endregion tool

await listenAsInstance(server)
