/** `connect` of ours, in a session or stateless, which answers, and follows tasks, by its layers. */
import { connect } from 'pannier/client'
import { answersOf, type Connecting, headersOf, type MatrixClient } from './client.ts'
import { sdkMethods } from './sdkV2.ts'

export async function connectOurs(connecting: Connecting, isStateless: boolean): Promise<MatrixClient> {
  const { url, heard, takesTasks = false } = connecting
  const answers = answersOf(connecting)
  const params = (request: { readonly params?: unknown }): object => request.params ?? {}
  const client = await connect(url, {
    era: isStateless ? 'stateless' : 'session',
    headers: headersOf(connecting),
    // A server of the stateless era does not list which tools run as tasks.
    tasks: { optional: takesTasks },
    answerers: {
      form: ({ request }) => answers.elicit(params(request)),
      url: ({ request }) => answers.elicit(params(request)),
      sampling: ({ request }) => answers.sample(params(request)),
      roots: answers.roots,
    },
  })
  const methods = sdkMethods(client, heard, isStateless)
  return { ...methods, task: methods.call }
}
