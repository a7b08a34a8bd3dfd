/** The tool in inline style: straight-line code that runs again from the top in each round, on any instance. */
import { createServer, failure, type Server } from 'pannier/server'
import {
  done,
  duplicateFields,
  duplicateForm,
  noSuchItem,
  RESOLUTION,
  resolutionForm,
  resolvedAs,
  resolvedAsDuplicate,
  STATE,
  updateInput,
} from './rules.ts'
import type { WorkItems } from './workItems.ts'

export function inlineServer(items: WorkItems, instance: string): Server {
  // Name and keys must be the same on all instances; the title shows in results which instance it was.
  const server = createServer({ name: 'work-items', version: '1.0.0', title: `Instance ${instance}` })
  const originalForm = duplicateForm(duplicateFields(items))

  // #region tool
  const about = { description: 'Changes fields of a work item.', input: updateInput }
  server.tool('update_work_item', about, async ({ workItemId, fields }, ctx) => {
    if (!items.has(workItemId)) return noSuchItem(workItemId)
    if (fields[STATE] !== 'Resolved') {
      items.set(workItemId, fields)
      return done(`Bug #${workItemId} updated.`)
    }

    const { resolution } = await ctx.ask('resolution', resolutionForm(workItemId))
    // A step runs in the first round that reaches it. Later rounds, on any instance, find its result in the journal.
    await ctx.step('note', () => items.note(workItemId, `Resolution chosen: ${resolution}`))
    const update = () => items.set(workItemId, { ...fields, [RESOLUTION]: resolution })

    if (resolution !== 'Duplicate') {
      await ctx.step('update', update)
      return resolvedAs(workItemId, resolution)
    }

    const { duplicateOfId } = await ctx.ask('duplicate_of', originalForm)
    if (duplicateOfId === workItemId) return failure('A bug cannot be a duplicate of itself.')
    // When the result of this round is lost and the client sends it again, these steps run again. Both are idempotent;
    // work that must not be repeated belongs in ctx.once.
    await ctx.step('update', update)
    await ctx.step('link', () => items.link(workItemId, duplicateOfId))
    return resolvedAsDuplicate(workItemId, duplicateOfId)
  })
  // #endregion tool

  return server
}
