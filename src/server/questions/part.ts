/** What a server has for calls that wait for people: the calls, the pages, and the tool that continues a call. */
import type { CallToolResult } from '@modelcontextprotocol/client'
import type { RoundSealer } from '../../state/seal/index.ts'
import { toolEntry } from '../catalog/entries.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Registry } from '../catalog/registry.ts'
import { questionsOf, type ServerOptions } from '../options.ts'
import type { RequestLimits } from '../limits/requestLimits.ts'
import type { Results } from '../results.ts'
import type { NoticeSite, QuestionDesk, QuestionSite } from '../taskPort.ts'
import type { Pages } from '../http/endpoint.ts'
import { isLoginPath, isQuestionPath, QuestionLinks } from './links.ts'
import type { NamesOf } from './openQuestions.ts'
import { CONTINUE_TOOL, DeferredCalls } from './deferredCalls.ts'

export interface QuestionsPart {
  readonly waiting: DeferredCalls
  readonly pages: Pages
  readonly namesOf: NamesOf | undefined
  readonly notices: NoticeSite
  /** Sets the address of the pages, where the options name none. */
  listensAt(url: string): void
}

export interface QuestionsPartOptions {
  readonly desk: QuestionDesk | undefined
  readonly sealer: RoundSealer
  readonly results: Results
  readonly registry: Registry
  /** Whether a caller may still call a tool. */
  readonly mayCall: (principal: Principal | undefined, tool: string) => boolean
  /** Absent where callers have no limits. */
  readonly limits: RequestLimits | undefined
}

/** Undefined where no call waits for people. */
export function openQuestionsPart(
  options: ServerOptions,
  { desk, sealer, results, registry, mayCall, limits }: QuestionsPartOptions,
): QuestionsPart | undefined {
  const settings = questionsOf(options)
  if (settings === undefined) return undefined
  if (desk === undefined) throw new TypeError('The option questions needs tasks of pannier/tasks or pannier/postgres.')
  let { url } = settings
  const { waitSeconds, namesOf, login, notify = [] } = settings
  const links = new QuestionLinks(sealer, () => url, waitSeconds)
  const site: QuestionSite = {
    links,
    server: options.title ?? options.name,
    login: login && {
      options: login,
      sealer,
      returnUrl: () => links.returnUrl,
      isReturn: isLoginPath,
    },
  }
  const servePage = desk.pages(site)
  const waiting = new DeferredCalls({
    desk,
    links,
    results,
    waitSeconds,
    mayCall,
    hasLogin: login !== undefined,
  })
  registry.addTool(continueTool(waiting))
  return {
    waiting,
    pages: {
      has: (path) => isQuestionPath(path) || (site.login !== undefined && isLoginPath(path)),
      serve: async (request, address) => {
        await limits?.enterPage(address)
        return servePage(request)
      },
    },
    namesOf,
    notices: {
      channels: notify,
      server: site.server,
      // A question for others has a page only where people can log in.
      linkTo: async (linked) => (linked.owner === undefined && login === undefined ? undefined : links.to(linked)),
    },
    listensAt: (address) => {
      url ??= address
    },
  }
}

function continueTool(waiting: DeferredCalls) {
  const input = {
    type: 'object',
    properties: { ticket: { type: 'string', description: 'The ticket that the result of the call has.' } },
    required: ['ticket'],
  } as const
  const description =
    'Gives the result of a call that waited for a person, once they have answered. Until then it says what is asked.'
  return toolEntry(CONTINUE_TOOL, { description, input }, async (args, ctx) => {
    const { ticket } = args as { ticket: string }
    return (await waiting.continued(ctx, ticket, () => ctx.signal.aborted)) as CallToolResult
  })
}
