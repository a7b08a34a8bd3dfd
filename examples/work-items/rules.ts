/**
 * The two custom rules of SEP-2322's work-item flow, and the question to the person for each:
 *
 * 1. When State changes to "Resolved", a Resolution is required.
 * 2. When the Resolution is "Duplicate", a link to the original is required.
 */
import { type Form, failure, text } from 'pannier/server'
import * as z from 'zod'
import type { WorkItems } from './workItems.ts'

/** What a tool returns when it is done. */
type Result = ReturnType<typeof text>

export const STATE = 'System.State'
export const RESOLUTION = 'Microsoft.VSTS.Common.ResolvedReason'

/** The arguments of `update_work_item`. */
export const updateInput = z.object({
  workItemId: z.number().int().describe('The work item to change'),
  fields: z.record(z.string(), z.string()).describe('New values, by field name'),
})

// #region rule-1
export const resolutionFields = z.object({
  resolution: z.enum(['Fixed', "Won't Fix", 'Duplicate', 'By Design']).describe('Resolution type for this bug'),
})

export function resolutionForm(workItemId: number): Form<typeof resolutionFields> {
  return {
    message: `Resolving Bug #${workItemId} requires a resolution. How was this bug resolved?`,
    schema: resolutionFields,
    // The arguments come again with the answer, so round 1 has nothing to remember and needs no state. The drawback:
    // when a new version changes the words of this question, an answer to the old words still counts.
    pin: false,
  }
}
// #endregion rule-1

// #region rule-2
/** An answer that fails this check is asked for again. The client sees a number; only the server knows the items. */
export function duplicateFields(items: WorkItems) {
  return z.object({
    duplicateOfId: z
      .number()
      .refine((id) => items.has(id))
      .describe('Work item ID of the original bug'),
  })
}

export function duplicateForm<S extends ReturnType<typeof duplicateFields>>(schema: S): Form<S> {
  return { message: 'Since this is a duplicate, which work item is the original?', schema }
}
// #endregion rule-2

/** The SEP writes `isError: false` out; `text()` alone leaves it to its default. */
export function done(sentence: string): Result {
  return { ...text(sentence), isError: false }
}

export function noSuchItem(workItemId: number): Result {
  return failure(`There is no work item #${workItemId}.`)
}

export function resolvedAs(workItemId: number, resolution: string): Result {
  return done(`Bug #${workItemId} resolved as ${resolution}. State set to Resolved.`)
}

export function resolvedAsDuplicate(workItemId: number, originalId: number): Result {
  return done(
    `Bug #${workItemId} resolved as Duplicate of Bug #${originalId}. State set to Resolved and duplicate link created.`,
  )
}
