/** Tools that ask, by the SDK's own `inputRequired`. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  createRequestStateCodec,
  type InputRequest,
  inputRequired,
  type McpServer,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { z } from 'zod'
import { choices, withDefaults } from '../fixture/askingTools.ts'
import { said } from './tools.ts'

/** Which step of a call comes next, signed. */
export const roundState = createRequestStateCodec<{ step: number }>({ key: crypto.getRandomValues(new Uint8Array(32)) })

type Questions = Readonly<Record<string, InputRequest>>

const form = (message: string, field: string, type: z.ZodType = z.string()): InputRequest =>
  inputRequired.elicit({ message, requestedSchema: z.object({ [field]: type }) })
const sample = (prompt: string): InputRequest =>
  inputRequired.createMessage({ messages: [{ role: 'user', content: { type: 'text', text: prompt } }], maxTokens: 100 })

const name = form('What is your name?', 'name')
const confirm = form('Please confirm', 'ok', z.boolean())
const greeting = sample('Generate a greeting')

/** Asks step by step; what was answered before is not needed. `without`: without a state. */
async function asked({ mcpReq }: ServerContext, steps: readonly Questions[], without = false) {
  const { step = 0 } = mcpReq.requestState<{ step: number }>() ?? {}
  const answers = mcpReq.inputResponses ?? {}
  const has = (questions: Questions | undefined): boolean => Object.keys(questions ?? {}).every((key) => key in answers)
  const isAnswered = (step > 0 || without) && has(steps[Math.max(0, step - 1)])
  const next = isAnswered ? Math.max(1, step) : Math.max(0, step - 1)
  const questions = steps[next]
  if (questions === undefined) return said(`Answered: ${JSON.stringify(answers)}, state-ok`)
  const inputRequests = { ...questions }
  if (without) return inputRequired({ inputRequests })
  return inputRequired({ inputRequests, requestState: await roundState.mint({ step: next + 1 }) })
}

export function addRoundTools(server: McpServer): void {
  const single: readonly (readonly [string, Questions])[] = [
    ['test_input_required_result_sampling', { capital_question: sample('What is the capital of France?') }],
    ['test_input_required_result_list_roots', { client_roots: inputRequired.listRoots() }],
    ['test_input_required_result_request_state', { confirm }],
    ['test_input_required_result_tampered_state', { confirm }],
    ['test_streaming_elicitation', { confirm }],
    ['test_missing_capability', { answer: sample('Say something.') }],
    [
      'test_input_required_result_multiple_inputs',
      { user_name: name, greeting, client_roots: inputRequired.listRoots() },
    ],
  ]
  for (const [tool, questions] of single)
    server.registerTool(tool, { description: 'Asks.' }, (ctx) => asked(ctx, [questions]))
  server.registerTool('test_input_required_result_elicitation', { description: 'Asks for a name.' }, (ctx) =>
    asked(ctx, [{ user_name: name }], true),
  )
  server.registerTool('test_input_required_result_multi_round', { description: 'Asks twice in a row.' }, (ctx) =>
    asked(ctx, [{ step1: name }, { step2: form('What is your favorite color?', 'color') }]),
  )
  server.registerTool('test_input_required_result_capabilities', { description: 'Asks what it can.' }, (ctx) => {
    const envelope = new Map<string, ClientCapabilities>(Object.entries(ctx.mcpReq.envelope ?? {}))
    const { elicitation, sampling } = envelope.get(CLIENT_CAPABILITIES_META_KEY) ?? {}
    return asked(ctx, [{ ...(elicitation && { user_name: name }), ...(sampling && { greeting }) }])
  })
  addSessionTools(server)
}

/** What the session revisions ask for, by the same means. */
function addSessionTools(server: McpServer): void {
  const message = { description: 'Asks.', inputSchema: z.object({ message: z.string() }) }
  server.registerTool('test_elicitation', message, (args, ctx) =>
    asked(ctx, [
      {
        form: inputRequired.elicit({
          message: args.message,
          requestedSchema: {
            type: 'object',
            properties: { username: { type: 'string' }, email: { type: 'string' } },
            required: ['username', 'email'],
          },
        }),
      },
    ]),
  )
  const prompt = { description: 'Samples.', inputSchema: z.object({ prompt: z.string() }) }
  server.registerTool('test_sampling', prompt, (args, ctx) => asked(ctx, [{ answer: sample(args.prompt) }]))
  for (const [tool, requestedSchema] of [
    ['test_elicitation_sep1034_defaults', withDefaults],
    ['test_elicitation_sep1330_enums', choices],
  ] as const)
    server.registerTool(tool, { description: 'Asks.' }, (ctx) =>
      asked(ctx, [
        { form: { method: 'elicitation/create', params: { message: 'Please', requestedSchema } } as InputRequest },
      ]),
    )
}
