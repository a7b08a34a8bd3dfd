/** The client of the official SDK, connected to a server of the same process: no port, and no token. */
import type { Client, ClientCapabilities } from '@modelcontextprotocol/client'
import type { Answerer, Answerers, Asked, ConnectOptions } from '../client/index.ts'
import { assertOptionNames, isObject, type OptionNames } from '../protocol/index.ts'
import type { Principal, Server } from '../server/index.ts'
import { answerOne, type Answers } from './flow.ts'
import { ENDPOINT, EVERYTHING } from './request.ts'

export interface TestClientOptions extends Pick<ConnectOptions, 'era' | 'headers' | 'tasks'> {
  /** The caller, instead of the result of the server's `principal`. @default the result of `principal` */
  principal?: Principal
  /** The capabilities that the client declares. @default forms, URLs, sampling with tools, and roots */
  capabilities?: ClientCapabilities
  /** The answers by the keys of the questions. A question without one is an error, and ends the call. @default none */
  answers?: Answers
}

const TEST_CLIENT_OPTIONS: OptionNames<TestClientOptions> = {
  principal: true,
  capabilities: true,
  answers: true,
  era: true,
  headers: true,
  tasks: true,
}

/** Connects a client to a server. Close it at the end of the test; the server is drained separately. */
export async function testClient(server: Server, options: TestClientOptions = {}): Promise<Client> {
  assertOptionNames(options, TEST_CLIENT_OPTIONS, 'testClient')
  const { principal, capabilities = EVERYTHING, answers = {}, ...rest } = options
  const handle = principal === undefined ? server.fetch : server.fetchHandler({ principal })
  // Loaded when it is used, because `exercise` needs neither the client nor its jar.
  const { connect, fixed } = await import('../client/index.ts')
  return connect(ENDPOINT, {
    ...rest,
    answerers: answerersOf(capabilities, (asked) => answerBy(answers, asked, fixed({}))),
    client: { capabilities },
    fetch: (url, init) => handle(new Request(url, init)),
  })
}

/** The answer to a question; one without an answer goes to `otherwise`, which is the client's own error for it. */
function answerBy(answers: Answers, asked: Asked, otherwise: Answerer): ReturnType<Answerer> {
  const { key, request } = asked
  return Object.hasOwn(answers, key) ? answerOne(key, request, answers) : otherwise(asked)
}

/** An answerer for each kind of question that the client declares. */
function answerersOf({ elicitation, sampling, roots }: ClientCapabilities, answer: Answerer): Answerers {
  const hasUrl = isObject(elicitation) && 'url' in elicitation
  const hasForm = isObject(elicitation) && ('form' in elicitation || !hasUrl)
  return {
    ...(hasForm && { form: answer }),
    ...(hasUrl && { url: answer }),
    ...(sampling && { sampling: answer }),
    ...(roots && { roots: answer }),
  }
}
