/** The tools by which clients come back to calls that wait for people, and to tasks. */
import type { CallToolResult } from '@modelcontextprotocol/client'
import type { Json } from '../../protocol/index.ts'
import { toolEntry, type ToolEntry } from '../catalog/entries.ts'
import { Context } from '../handler/context.ts'
import type { DeferredCalls, DeferredTools } from '../taskPort.ts'

export const CONTINUE_TOOL = 'continue_call'

const CALL_TOOLS: DeferredTools = { status: CONTINUE_TOOL, ticket: 'ticket', answer: undefined, asksPeople: false }
const TASK_TOOLS: DeferredTools = { status: 'task_status', ticket: 'task', answer: 'task_answer', asksPeople: true }

export function deferredTools(asTools: boolean, askModel: boolean): DeferredTools {
  if (asTools) return TASK_TOOLS
  return askModel ? { ...CALL_TOOLS, answer: 'answer_question' } : CALL_TOOLS
}

export function deferredToolEntries(waiting: DeferredCalls, tools: DeferredTools): readonly ToolEntry[] {
  const entries = [statusTool(waiting, tools)]
  if (tools.answer !== undefined) entries.push(answerTool(waiting, tools, tools.answer))
  if (tools.asksPeople) entries.push(cancelTool(waiting, tools))
  return entries
}

function statusTool(waiting: DeferredCalls, { status, ticket, asksPeople }: DeferredTools): ToolEntry {
  const what = asksPeople
    ? 'Gives the result of a task, or says what it does or waits for.'
    : 'Gives the result of a call that waited for a person, once they have answered. Until then it says what is asked.'
  return toolEntry(status, { description: what, input: ticketSchema(ticket) }, async (args, ctx) =>
    resultOf(await waiting.continued(ctx, ticketIn(args, ticket), () => ctx.signal.aborted)),
  )
}

const ANSWER_INPUT = {
  type: 'object',
  properties: {
    question: { type: 'string', description: 'The id of the question, as the result of its call has it.' },
    content: { type: 'object', description: 'Your answer, which fits the schema of the question.' },
    decline: { type: 'boolean', description: 'Declines the question instead.' },
  },
  required: ['question'],
} as const

function answerTool(waiting: DeferredCalls, { asksPeople }: DeferredTools, name: string): ToolEntry {
  const own = 'Answers a question of a call that waits, if the question says that you may.'
  const description = asksPeople
    ? `${own} Any other question of yours is shown to the person at this client, where it can show forms.`
    : own
  return toolEntry(name, { description, input: ANSWER_INPUT }, async (args, ctx) => {
    const { question, content, decline = false } = args as { question: string; content?: Json; decline?: boolean }
    const ask = asksPeople && ctx.can('elicitation.form') ? Context.relay.bind(Context, ctx, question) : undefined
    const given = { question, content, declines: decline, ask }
    return resultOf(await waiting.answered(ctx, given, () => ctx.signal.aborted))
  })
}

function cancelTool(waiting: DeferredCalls, { ticket }: DeferredTools): ToolEntry {
  const options = { description: 'Cancels a task.', input: ticketSchema(ticket) }
  return toolEntry('task_cancel', options, async (args, ctx) =>
    resultOf(await waiting.cancelled(ctx, ticketIn(args, ticket))),
  )
}

function ticketSchema(name: string) {
  const ticket = { type: 'string', description: `The ${name} that the result of the call has.` }
  return { type: 'object', properties: { [name]: ticket }, required: [name] } as const
}

function ticketIn(args: unknown, name: string): string {
  return String((args as Json)[name])
}

function resultOf(result: Json): CallToolResult {
  return result as CallToolResult
}
