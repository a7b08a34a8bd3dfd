/** What is known not to work with each client, and how that is known. Everything else must work. */
import type { Expectation } from './judge.ts'

const NO_ELICITATION = 'needs a client that declares: elicitation'
const NO_SAMPLING = 'needs a client that declares: sampling'
const NO_TASKS = 'runs only as a task'
const NO_PROGRESS_TOKEN = 'The request had no progressToken'
const NOT_TOLD = 'The server was not told.'

// What callTool of the official SDK from 1.25 on says before it sends anything.
const SDK_WANTS_STREAM = 'requires task-based execution'

type Reason = Omit<Expectation, 'client' | 'whose'>

function notOffered(client: string, ...reasons: readonly Reason[]): readonly Expectation[] {
  return reasons.map((reason) => ({ client, whose: 'not offered', ...reason }))
}

function theirs(client: string, ...reasons: readonly Reason[]): readonly Expectation[] {
  return reasons.map((reason) => ({ client, whose: 'theirs', ...reason }))
}

const SDKS: readonly Expectation[] = [
  ...notOffered(
    'sdk-1.12',
    {
      whats: ['elicit'],
      saw: NO_ELICITATION,
      because: 'It speaks 2025-03-26, and elicitation came with 2025-06-18: its types have no such request.',
    },
    { whats: ['tasks'], saw: NO_TASKS, because: 'It speaks 2025-03-26, and tasks came with 2025-11-25.' },
  ),
  ...notOffered('sdk-1.20', {
    whats: ['tasks'],
    saw: NO_TASKS,
    because: 'It speaks 2025-06-18, and tasks came with 2025-11-25.',
  }),
  ...['sdk-2.0', 'sdk-2.4'].flatMap((client) =>
    notOffered(client, {
      whats: ['tasks'],
      saw: NO_TASKS,
      because: 'Tasks are not in it since 2.0; `ext-tasks` adds them. Its calls neither declare nor ask for tasks.',
    }),
  ),
]

const FRAMEWORKS: readonly Expectation[] = [
  ...notOffered(
    'ai-sdk',
    {
      whats: ['sample'],
      saw: NO_SAMPLING,
      because: 'It answers only `elicitation/create`; its type of capabilities has no sampling.',
    },
    { whats: ['progress'], saw: NO_PROGRESS_TOKEN, because: 'Its calls have no option for progress.' },
    { whats: ['tasks'], saw: NO_TASKS, because: 'Its calls neither declare nor ask for tasks.' },
  ),
  ...theirs(
    'ai-sdk',
    {
      whats: ['cancel'],
      eras: ['session'],
      saw: NOT_TOLD,
      because:
        'An aborted call ends for the caller, but `notifications/cancelled` is not sent, and appears nowhere in the package. 2025-11-25, Transports: "To cancel, the client SHOULD explicitly send an MCP CancelledNotification".',
    },
    {
      whats: ['cancel'],
      places: ['stdio'],
      eras: ['stateless'],
      saw: NOT_TOLD,
      because:
        'The same over stdio. 2026-07-28, stdio: "To cancel an in-flight request, the client MUST send a notifications/cancelled notification".',
    },
  ),
  ...notOffered(
    'langchain',
    { whats: ['elicit'], saw: NO_ELICITATION, because: 'It declares no capabilities, and has no option for any.' },
    { whats: ['sample'], saw: NO_SAMPLING, because: 'It declares no capabilities, and has no option for any.' },
    {
      whats: ['tasks'],
      saw: SDK_WANTS_STREAM,
      because: 'It calls tools with `callTool` of the official SDK, which refuses tools that run only as tasks.',
    },
  ),
  ...notOffered(
    'openai-agents',
    { whats: ['elicit'], saw: NO_ELICITATION, because: 'It declares no capabilities, and has no option for any.' },
    { whats: ['sample'], saw: NO_SAMPLING, because: 'It declares no capabilities, and has no option for any.' },
    { whats: ['progress'], saw: NO_PROGRESS_TOKEN, because: 'Its calls have no option for progress.' },
    { whats: ['tasks'], saw: NO_TASKS, because: 'Its calls neither declare nor ask for tasks.' },
  ),
  ...notOffered(
    'mastra',
    {
      whats: ['sample'],
      saw: NO_SAMPLING,
      because: 'Its type of capabilities says that sampling is not supported, because it is deprecated.',
    },
    { whats: ['tasks'], saw: NO_TASKS, because: 'Its calls neither declare nor ask for tasks.' },
  ),
  ...notOffered('mcp-use', {
    whats: ['tasks'],
    saw: SDK_WANTS_STREAM,
    because: 'It calls tools with `callTool` of the official SDK, which refuses tools that run only as tasks.',
  }),
]

const PROGRAMS: readonly Expectation[] = [
  ...['mcporter', 'inspector-0', 'inspector-1', 'inspector-2'].flatMap((client) =>
    notOffered(
      client,
      {
        whats: ['elicit'],
        saw: NO_ELICITATION,
        because: 'Its command line does not declare that it answers questions.',
      },
      { whats: ['sample'], saw: NO_SAMPLING, because: 'Its command line does not declare that it has a model.' },
      { whats: ['progress'], saw: NO_PROGRESS_TOKEN, because: 'Its command line does not ask for progress.' },
      {
        whats: ['cancel'],
        places: ['http', 'two'],
        eras: ['session'],
        saw: NOT_TOLD,
        because:
          'Ctrl-C ends the program without a message, and in the session era a lost connection is no cancellation. On stdio the server ends with it.',
      },
    ),
  ),
  ...notOffered('mcporter', {
    whats: ['tasks'],
    saw: NO_TASKS,
    because: 'It calls tools with `callTool` of the official SDK, which asks for no task.',
  }),
  ...['inspector-0', 'inspector-1'].flatMap((client) =>
    notOffered(client, {
      whats: ['tasks'],
      saw: SDK_WANTS_STREAM,
      because: 'It calls tools with `callTool` of the official SDK, which refuses tools that run only as tasks.',
    }),
  ),
]

const BETWEEN: readonly Expectation[] = [
  ...theirs('mcp-remote', {
    whats: ['cancel'],
    eras: ['stateless'],
    saw: NOT_TOLD,
    because:
      'It posts `notifications/cancelled`, and keeps the stream of the call open. 2026-07-28, Cancellation: on Streamable HTTP "closing the SSE response stream is the cancellation signal", and no such message is expected.',
  }),
  ...notOffered('mcp-remote', {
    whats: ['tasks'],
    eras: ['stateless'],
    saw: NO_TASKS,
    because: 'It translates calls and questions between the eras, but not tasks, and does not declare them.',
  }),
  ...notOffered(
    'mcp-proxy',
    { whats: ['elicit'], saw: NO_ELICITATION, because: 'Its client declares no capabilities to the server behind it.' },
    { whats: ['sample'], saw: NO_SAMPLING, because: 'Its client declares no capabilities to the server behind it.' },
    {
      whats: ['tasks'],
      eras: ['stateless'],
      saw: NO_TASKS,
      because: 'Its client declares no capabilities to the server behind it.',
    },
  ),
  ...theirs('mcp-proxy', {
    whats: ['tasks'],
    eras: ['session'],
    saw: 'another result family cannot default into an empty tools/call success',
    because:
      "It passes on the server's tasks and the client's `params.task`, but refuses the result. 2025-11-25, Tasks: the receiver of a task-augmented request returns a `CreateTaskResult`, which has no content.",
  }),
  ...theirs(
    'supergateway',
    {
      whats: ['elicit', 'sample'],
      places: ['http', 'two'],
      saw: 'The client could not answer.',
      because:
        'From HTTP to stdio it declares the capabilities of its client to the server, but answers questions with "Method not found" instead of passing them on. 2025-11-25, Lifecycle: "Only use capabilities that were successfully negotiated".',
    },
    {
      whats: ['progress'],
      places: ['http', 'two'],
      saw: 'The request had a progressToken, and no progress came.',
      because: 'From HTTP to stdio it passes on the progressToken, but drops the notifications of the server.',
    },
  ),
]

export const EXPECTED: readonly Expectation[] = [...SDKS, ...FRAMEWORKS, ...PROGRAMS, ...BETWEEN]
