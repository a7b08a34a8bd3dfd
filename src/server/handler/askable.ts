/** The kinds of questions that a client answers, by the capabilities that it declared. */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Journal } from '../../journal/index.ts'
import { capabilityNames, declares, declaresAll, neededCapability, ProtocolError } from '../../protocol/index.ts'
import type { Call } from '../call.ts'
import type { Logger } from '../logger.ts'

/** Whether the client declared the capability that the request needs. */
export function isAskable({ peer }: Pick<Call, 'peer'>, request: InputRequest): boolean {
  return declaresAll(peer.capabilities, neededCapability(request))
}

/** Whether a request is a form for a person, which somebody can also answer on a page. */
export function isForm(request: InputRequest): boolean {
  return request.method === 'elicitation/create' && request.params.mode !== 'url'
}

/** Capabilities of clients that a tool may need. */
export type Need = 'elicitation' | 'elicitation.url' | 'sampling' | 'roots'

/** Sentences on missing capabilities, for people and models. */
const LACKS: Readonly<Record<Need, string>> = {
  elicitation: 'asks a person, and this client cannot show questions',
  'elicitation.url': 'sends a person to a web page, and this client cannot open one',
  sampling: "uses the client's model, and this client offers none",
  roots: 'works in the folders of its client, and this client names none',
}

/**
 * Throws if the client did not declare a feature that the tool needs. `canWait`: somebody can answer a form elsewhere.
 */
export function assertNeeds(
  tool: string,
  needs: readonly Need[],
  { peer }: Pick<Call, 'peer'>,
  canWait: boolean,
): void {
  const need = unmetNeed(needs, { peer }, canWait)
  if (need === undefined) return
  const sentence = `The tool "${tool}" ${LACKS[need]}. Use a client that declares ${need}. Nothing was done.`
  const [area = '', mode = 'form'] = need.split('.')
  const required = { [area]: area === 'elicitation' ? { [mode]: {} } : {} }
  throw new ProtocolError('CAPABILITY_MISSING', sentence, { requiredCapabilities: required })
}

/** The first need that a client does not meet. */
export function unmetNeed(needs: readonly Need[], { peer }: Pick<Call, 'peer'>, canWait: boolean): Need | undefined {
  return needs.find((need) => {
    const isForm = need === 'elicitation'
    return !(isForm && canWait) && !declares(peer.capabilities, isForm ? 'elicitation.form' : need)
  })
}

/** Like assertAskable, and warns once of each handler that had effects before it asked. */
export function askableCheck(logger: () => Logger) {
  const warned = new Set<string>()
  return (call: Pick<Call, 'peer'>, request: InputRequest, about: { readonly name: string }, { steps }: Journal) => {
    const known = warned.size
    // The resources of a template have any number of names.
    if (steps.size > 0 && known < 99 && !isAskable(call, request) && warned.add(about.name).size > known)
      logger().warn(about, `It had effects, and then ${LACKS.elicitation}. Give it "needs".`)
    assertAskable(call, request)
  }
}

/** Throws when the client did not declare the capability that the request needs. The error names it. */
export function assertAskable(call: Pick<Call, 'peer'>, request: InputRequest): void {
  if (isAskable(call, request)) return
  const needed = neededCapability(request)
  const sentence = `This needs a client that declares: ${capabilityNames(needed)}.`
  throw new ProtocolError('CAPABILITY_MISSING', sentence, { requiredCapabilities: needed })
}
