/**
 * The same tool in explicit style: the handler reads the answers and the state of this round, and returns its questions
 * and the next state. The messages are the same as those of server.ts. What comes in `ctx.inputResponses` is unchecked;
 * what comes in `ctx.requestState` was sealed by a server with our keys for this very call.
 */
import { createServer, failure, inputRequired, type Server } from 'pannier/server'
import * as z from 'zod'
import {
  done,
  duplicateFields,
  duplicateForm,
  noSuchItem,
  RESOLUTION,
  resolutionFields,
  resolutionForm,
  resolvedAs,
  resolvedAsDuplicate,
  STATE,
  updateInput,
} from './rules.ts'
import type { WorkItems } from './workItems.ts'

export function explicitServer(items: WorkItems, instance: string): Server {
  const server = createServer({ name: 'work-items', version: '1.0.0', title: `Instance ${instance}` })
  const originalFields = duplicateFields(items)

  // #region tool
  const about = { description: 'Changes fields of a work item.', input: updateInput }
  server.tool('update_work_item', about, ({ workItemId, fields }, { inputResponses, requestState }) => {
    if (!items.has(workItemId)) return noSuchItem(workItemId)
    if (fields[STATE] !== 'Resolved') {
      items.set(workItemId, fields)
      return done(`Bug #${workItemId} updated.`)
    }
    const refused = Object.keys(inputResponses).find((key) => isRefusal(inputResponses[key]))
    if (refused !== undefined) return failure(`The question "${refused}" was declined.`)

    // Round 3 finds the resolution in the state, round 2 in its answers, round 1 nowhere.
    const earlier = resolutionFields.safeParse(requestState).data
    const resolution = (earlier ?? contentOf(inputResponses['resolution'], resolutionFields))?.resolution
    if (resolution === undefined) {
      return inputRequired({ inputRequests: { resolution: resolutionForm(workItemId) } })
    }
    if (earlier === undefined) items.note(workItemId, `Resolution chosen: ${resolution}`)
    if (resolution !== 'Duplicate') {
      items.set(workItemId, { ...fields, [RESOLUTION]: resolution })
      return resolvedAs(workItemId, resolution)
    }

    const original = contentOf(inputResponses['duplicate_of'], originalFields)?.duplicateOfId
    if (original === undefined) {
      return inputRequired({
        inputRequests: { duplicate_of: duplicateForm(originalFields) },
        requestState: { resolution },
      })
    }
    if (original === workItemId) return failure('A bug cannot be a duplicate of itself.')
    items.set(workItemId, { ...fields, [RESOLUTION]: resolution })
    items.link(workItemId, original)
    return resolvedAsDuplicate(workItemId, original)
  })
  // #endregion tool

  return server
}

// #region answers
const refusal = z.object({ action: z.enum(['decline', 'cancel']) })
const acceptance = z.object({ action: z.literal('accept'), content: z.unknown() })

function isRefusal(response: unknown): boolean {
  return refusal.safeParse(response).success
}

/**
 * The content of an accepted form, or undefined when the answer is missing or not usable, so that it is asked again.
 */
function contentOf<S extends z.ZodType>(response: unknown, fields: S): z.output<S> | undefined {
  return fields.safeParse(acceptance.safeParse(response).data?.content).data
}
// #endregion answers
