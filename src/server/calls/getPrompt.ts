import type { GetPromptResult } from '@modelcontextprotocol/client'
import { isObject, ProtocolError } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import { promptIssue } from '../catalog/content.ts'
import type { PromptReturn } from '../catalog/definitions.ts'
import { ServerError } from '../errors.ts'
import type { InputRequired } from '../handler/questions.ts'
import type { RoundRunner } from './rounds.ts'
import type { AccessControl } from '../catalog/accessControl.ts'
import type { Registry } from '../catalog/registry.ts'

/** prompts/get: find the prompt, check its arguments, run a round of its handler. */
export function getPrompt(registry: Registry, rounds: RoundRunner, access: AccessControl) {
  return async (call: Call): Promise<string> => {
    const { name, arguments: args = {} } = call.params
    const entry = typeof name === 'string' ? registry.prompts.get(name) : undefined
    if (entry === undefined) throw unknownPrompt(name)
    if (entry.access !== undefined) access.assertAllowed(entry.access, call, () => unknownPrompt(name))
    if (!isObject(args)) throw new ProtocolError('PARAMS_INVALID', '"params.arguments" must be an object of strings.')
    const checked = entry.input === undefined ? { ok: true as const, value: args } : await entry.input.check(args)
    if (!checked.ok) throw new ProtocolError('PARAMS_INVALID', `The arguments do not fit: ${checked.issues}`)
    return rounds.run<Exclude<PromptReturn, InputRequired>>(call, {
      subject: { name: entry.name, args, carry: entry.carry },
      invoke: (ctx) => entry.handler(checked.value, ctx),
      finish: (value) => (typeof value === 'string' ? userMessage(value) : checkedResult(entry.name, value)),
    })
  }
}

export function unknownPrompt(name: unknown): ProtocolError {
  return new ProtocolError('PARAMS_INVALID', `There is no prompt "${String(name)}".`)
}

/** Clients refuse a result with an invalid message, so it is an error of the prompt. */
function checkedResult(name: string, value: GetPromptResult): GetPromptResult {
  const issue = promptIssue(value)
  if (issue === undefined) return value
  throw new ServerError('PROMPT_OUTPUT_INVALID', `What the prompt "${name}" returned is not valid: ${issue}`)
}

function userMessage(text: string): GetPromptResult {
  return { messages: [{ role: 'user', content: { type: 'text', text } }] }
}
