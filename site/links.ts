/** Links between files of the repository, as links between pages of the site. */
import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'
import { root } from '../scripts/repository.ts'
import { placeOf } from './pages.ts'

type Token = ReturnType<MarkdownRenderer['parse']>[number]

/**
 * Changes the links of pages: to other pages by their place on the site, to other files by the address of the
 * repository. Without one such a link is shown as its text. A link to a file that is not there ends the build.
 */
export function repositoryLinks(repository: string | undefined) {
  return (md: MarkdownRenderer): void => {
    md.core.ruler.push('repository-links', ({ tokens, env }) => {
      const path = posix.relative(root, String(env.realPath ?? env.path))
      for (const token of tokens) if (token.children) token.children = inline(token.children, path, repository)
    })
  }
}

function inline(tokens: readonly Token[], path: string, repository: string | undefined): Token[] {
  let isText = false
  return tokens.flatMap((token) => {
    if (token.type === 'link_close' && isText) {
      isText = false
      return []
    }
    if (token.type !== 'link_open') return [token]
    const target = targetOf(String(token.attrGet('href')), path, repository)
    isText = target === undefined
    if (target === undefined) return []
    token.attrSet('href', target)
    return [token]
  })
}

/** Undefined for a file that the site does not have. */
export function targetOf(link: string, path: string, repository: string | undefined): string | undefined {
  if (/^([a-z][a-z+.-]*:|#|\/\/)/i.test(link)) return link
  const [file = '', anchor] = link.split('#')
  const target = posix.join(posix.dirname(path), decodeURI(file)).replace(/\/$/, '')
  if (!existsSync(join(root, target))) throw new Error(`${path}: link to ${link}, but ${target} is not there.`)
  const place = placeOf(target)
  if (place !== undefined) return `/${place}${anchor === undefined ? '' : `#${anchor}`}`
  return repository && `${repository}/blob/HEAD/${target}${anchor === undefined ? '' : `#${anchor}`}`
}
