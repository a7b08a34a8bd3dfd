/** The code of docs/how-to/answering.md. */
// #region imports
import {
  type Answerer,
  type Answerers,
  type Asked,
  type ClientCode,
  clientCode,
  ClientError,
  connect,
  defaults,
  fixed,
  folders,
  model,
  type Notice,
  plainLine,
  plainText,
  refuse,
  type Target,
  terminal,
} from 'pannier/client'
// #endregion imports

// #region connect
/** Calls a tool and resolves with its result, after as many rounds as the server needs. */
export async function callTool(target: Target, answerers: Answerers, name: string, args: Record<string, unknown> = {}) {
  const client = await connect(target, { answerers, name: 'my-app', version: '1.0.0' })
  try {
    return await client.callTool({ name, arguments: args })
  } finally {
    await client.close()
  }
}
// #endregion connect

// #region terminal
export function atTerminal(): Answerers {
  const person = terminal()
  return { form: person, url: person }
}
// #endregion terminal

// #region own
/** What your window needs to draw a form. */
export interface Form {
  readonly from: string
  readonly message: string
  readonly fields: Readonly<Record<string, object>>
  readonly required: readonly string[]
  /** Aborted when the answer is no longer needed: close the window. */
  readonly signal: AbortSignal
}

export type Filled =
  | { action: 'accept'; content: Record<string, string | number | boolean | string[]> }
  | { action: 'decline' | 'cancel' }

export function inWindow(show: (form: Form) => Promise<Filled>): Answerer {
  return async ({ request, server, call, signal }) => {
    if (request.method !== 'elicitation/create' || request.params.mode === 'url') return { action: 'decline' }
    const { message, requestedSchema } = request.params
    return show({
      // `server.name` is only what the server says about itself.
      from: plainLine(`${server.target}, for ${call?.name ?? 'one of the calls'}`),
      message: plainText(message),
      fields: requestedSchema.properties,
      required: requestedSchema.required ?? [],
      signal,
    })
  }
}
// #endregion own

// #region scripts
/** For a script or a test: one answer is given, one question is declined, and the others get their default values. */
export const scripted: Answerers = {
  form: fixed({ size: { size: 'M' }, agree: 'decline' }, { otherwise: defaults() }),
  url: refuse(),
}
// #endregion scripts

// #region model
/** `complete` is your model; `allow` asks the person whether it may be used for this. */
export function withModel(
  complete: (prompt: string) => Promise<string>,
  allow: (prompt: string, asked: Asked) => Promise<boolean>,
): Answerers {
  return {
    sampling: model(async ({ messages }, asked) => {
      const blocks = messages.flatMap(({ content }) => content)
      const prompt = blocks.map((block) => (block.type === 'text' ? block.text : `(${block.type})`)).join('\n')
      if (!(await allow(prompt, asked))) throw new Error('The person did not allow it.')
      return { model: 'my-model', content: await complete(prompt) }
    }),
  }
}
// #endregion model

// #region folders
export function inFolders(project: string, notes: string): Answerers {
  return { roots: folders([project, { path: notes, name: 'My notes' }]) }
}
// #endregion folders

// #region failures
/** Pannier's error code and the cause. An error that the server sent has neither. */
export function failureOf(error: unknown): { code: ClientCode | undefined; cause: unknown } {
  const code = clientCode(error)
  if (error instanceof ClientError) return { code, cause: error.cause } // from connect: nothing was called
  const data = code !== undefined && error instanceof Error && 'data' in error ? error.data : undefined
  const cause = typeof data === 'object' && data !== null && 'cause' in data ? data.cause : undefined
  return { code, cause }
}
// #endregion failures

// #region notices
export function connectWithLog(target: Target, answerers: Answerers, log: (line: string) => void) {
  const onNotice = (notice: Notice): void => log(plainLine(textOf(notice))) // a server may have written parts of it
  return connect(target, { answerers, onNotice, timeoutMs: 120_000 })
}

function textOf(notice: Notice): string {
  switch (notice.kind) {
    case 'error':
      return notice.error.message
    case 'refused':
      return `refused ${notice.refused.method}: ${notice.refused.reason}`
    case 'unkept':
      return notice.reason
    case 'jar':
      return `${notice.news.kind} ${notice.news.name}: ${notice.news.reason}`
    case 'stderr':
      return notice.line
  }
}
// #endregion notices
