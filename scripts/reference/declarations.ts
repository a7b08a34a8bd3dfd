/** What a TypeScript file declares, with its doc comments, read without running it. */
import {
  type Class,
  type ClassElement,
  type Comment,
  type Function as FunctionNode,
  type ParamPattern,
  parseSync,
  type Program,
  type TSInterfaceDeclaration,
  type TSTypeParameterDeclaration,
  type VariableDeclarator,
  Visitor,
} from 'oxc-parser'

/** A type or a signature as it is written, and the types in it that come from the package itself. */
export interface TypeText {
  readonly text: string
  readonly names: readonly string[]
}

export interface Doc {
  readonly text: string
  /** What stands behind `@default`. */
  readonly standard: string | undefined
}

export interface Member {
  readonly name: string
  readonly type: TypeText
  readonly isOptional: boolean
  readonly doc: Doc
}

/** A type whose members an interface or class has as well, all or without those named by `Omit`, or only those of `Pick`. */
export interface Base {
  readonly name: string
  readonly type: TypeText
  readonly has: (member: string) => boolean
}

export interface Declaration {
  readonly kind: 'function' | 'class' | 'interface' | 'type' | 'constant'
  readonly name: string
  readonly path: string
  readonly doc: Doc
  /** The signatures of a function, else one text. */
  readonly definitions: readonly TypeText[]
  readonly members: readonly Member[]
  readonly bases: readonly Base[]
}

interface Span {
  readonly start: number
  readonly end: number
}

const NO_DOC: Doc = { text: '', standard: undefined }

export function readDeclarations(path: string, text: string): ReadonlyMap<string, Declaration> {
  const { program, comments, module } = parseSync(path, text)
  const foreign = new Set(
    module.staticImports
      .filter(({ moduleRequest }) => !moduleRequest.value.startsWith('.'))
      .flatMap(({ entries }) => entries.map(({ localName }) => localName.value)),
  )
  const names = namesIn(program).filter(({ name }) => !foreign.has(name))
  const reader = new Reader(path, text, comments, names)
  const found = new Map<string, Declaration>()
  for (const statement of program.body) {
    const isExport = statement.type === 'ExportNamedDeclaration'
    const node = isExport ? statement.declaration : statement
    // The implementation of a function with overloads is not public.
    if (node?.type === 'FunctionDeclaration' && found.has(node.id?.name ?? '')) continue
    for (const declaration of node === null ? [] : reader.declarations(node, statement)) {
      found.set(declaration.name, joined(found.get(declaration.name), declaration))
    }
  }
  return found
}

/** A function with the signatures of all its overloads. */
function joined(before: Declaration | undefined, next: Declaration): Declaration {
  if (before === undefined || before.kind !== 'function') return next
  return { ...before, definitions: [...before.definitions, ...next.definitions] }
}

type Named = Span & { readonly name: string }

/** Each reference to a type in the file. */
function namesIn(program: Program): readonly Named[] {
  const names: Named[] = []
  const add = (node: { type: string; name?: unknown } & Span): void => {
    if (node.type === 'Identifier') names.push({ name: String(node.name), start: node.start, end: node.end })
  }
  new Visitor({
    TSTypeReference: ({ typeName }) => add(typeName),
    TSTypeQuery: ({ exprName }) => add(exprName),
    TSInterfaceHeritage: ({ expression }) => add(expression),
    ClassDeclaration: ({ superClass }) => void (superClass && add(superClass)),
  }).visit(program)
  return names
}

type DeclaredNode =
  | Program['body'][number]
  | NonNullable<Extract<Program['body'][number], { declaration: unknown }>['declaration']>

class Reader {
  readonly #path: string
  readonly #text: string
  readonly #comments: readonly Comment[]
  readonly #names: readonly Named[]

  constructor(path: string, text: string, comments: readonly Comment[], names: readonly Named[]) {
    this.#path = path
    this.#text = text
    this.#comments = comments
    this.#names = names
  }

  declarations(node: DeclaredNode, statement: Span): Declaration[] {
    const common = { path: this.#path, doc: this.#docOf(statement), members: [], bases: [] }
    switch (node.type) {
      case 'TSInterfaceDeclaration':
        return [{ ...common, ...this.#interface(node) }]
      case 'TSTypeAliasDeclaration':
        return [{ ...common, kind: 'type', name: node.id.name, definitions: [this.#verbatim(node)] }]
      case 'ClassDeclaration':
        return node.id === null ? [] : [{ ...common, ...this.#class(node, node.id.name) }]
      case 'TSDeclareFunction':
      case 'FunctionDeclaration':
        return [{ ...common, ...this.#function(node) }]
      case 'VariableDeclaration':
        return node.declarations.map((each) => ({ ...common, ...this.#constant(each) }))
      default:
        return []
    }
  }

  #interface({ id, typeParameters, extends: bases, body }: TSInterfaceDeclaration) {
    const members = body.body.flatMap((each): Member[] => {
      const doc = this.#docOf(each)
      switch (each.type) {
        case 'TSPropertySignature': {
          const type = each.typeAnnotation
            ? this.#type(each.typeAnnotation.typeAnnotation)
            : { text: 'unknown', names: [] }
          return [{ name: this.#slice(each.key), type, isOptional: each.optional, doc }]
        }
        case 'TSMethodSignature': {
          const type =
            each.kind === 'get' && each.returnType
              ? this.#type(each.returnType.typeAnnotation)
              : this.#signature('', each)
          return [{ name: this.#slice(each.key), type, isOptional: each.optional, doc }]
        }
        case 'TSCallSignatureDeclaration':
          return [{ name: '()', type: this.#signature('', each), isOptional: false, doc }]
        case 'TSIndexSignature': {
          const name = /\[.*?\]/.exec(this.#slice(each))?.[0] ?? ''
          return [{ name, type: this.#type(each.typeAnnotation.typeAnnotation), isOptional: false, doc }]
        }
        default:
          throw new Error(`${this.#path}: ${id.name} has a ${each.type}, which the reference cannot show.`)
      }
    })
    const definition = this.#type({ start: id.start, end: typeParameters?.end ?? id.end })
    return {
      kind: 'interface' as const,
      name: id.name,
      definitions: [definition],
      members,
      bases: bases.map((each) => this.#base(each)),
    }
  }

  #base(node: Span): Base {
    const type = this.#type(node)
    const [, how, name = type.text.replace(/<.*/s, ''), keys = ''] =
      /^(Omit|Pick)<\s*(\w+)[^,]*,(.*)>$/s.exec(type.text) ?? []
    const named = [...keys.matchAll(/'([^']+)'/g)].map((match) => match[1])
    const has = (member: string): boolean => how === undefined || named.includes(member) === (how === 'Pick')
    return { name, type, has }
  }

  #class(node: Class, name: string) {
    const members = node.body.body.flatMap((each) => this.#classMember(each))
    const definition = this.#type({ start: node.id?.start ?? node.start, end: node.body.start })
    const bases = node.superClass === null ? [] : [this.#base(node.superClass)]
    return {
      kind: 'class' as const,
      name,
      definitions: [{ ...definition, text: `class ${definition.text}` }],
      members,
      bases,
    }
  }

  #classMember(node: ClassElement): Member[] {
    if (node.type !== 'PropertyDefinition' && node.type !== 'MethodDefinition') return []
    const isHidden = node.key.type === 'PrivateIdentifier' || node.computed || node.static
    if (isHidden || node.accessibility === 'private' || node.accessibility === 'protected') return []
    const common = { name: this.#slice(node.key), isOptional: node.optional === true, doc: this.#docOf(node) }
    if (!('kind' in node))
      return [{ ...common, type: this.#type(node.typeAnnotation?.typeAnnotation ?? node.value ?? node.key) }]
    if (node.kind === 'constructor' || node.kind === 'set') return []
    const { returnType } = node.value
    const type =
      node.kind === 'get' && returnType ? this.#type(returnType.typeAnnotation) : this.#signature('', node.value)
    return [{ ...common, type }]
  }

  #function(node: FunctionNode) {
    const name = node.id?.name ?? 'default'
    return { kind: 'function' as const, name, definitions: [this.#signature(name, node)] }
  }

  #constant(node: VariableDeclarator) {
    const { id, init } = node
    const name = this.#slice(id).split(':')[0] ?? ''
    if (init?.type === 'ArrowFunctionExpression') {
      return { kind: 'function' as const, name, definitions: [this.#signature(name, init)] }
    }
    const annotation = id.type === 'Identifier' ? id.typeAnnotation : undefined
    const type = annotation ? this.#type(annotation.typeAnnotation) : this.#type(init ?? id)
    const text = `const ${name}${annotation ? ': ' : ' = '}${type.text}`
    return { kind: 'constant' as const, name, definitions: [{ ...type, text }] }
  }

  #signature(name: string, node: Signature): TypeText {
    const parameters = node.params.map((each) => this.#parameter(each))
    const returned = node.returnType ? this.#type(node.returnType.typeAnnotation) : undefined
    const generics = node.typeParameters ? this.#type(node.typeParameters) : undefined
    const list = `${generics?.text ?? ''}(${parameters.map(({ text }) => text).join(', ')})`
    const arrow = name === '' ? ' => ' : ': '
    return {
      text: `${name}${list}${returned === undefined ? '' : arrow + returned.text}`,
      names: [generics, ...parameters, returned].flatMap((each) => each?.names ?? []),
    }
  }

  #parameter(node: ParamPattern): TypeText {
    if (node.type === 'TSParameterProperty') return this.#parameter(node.parameter)
    if (node.type === 'RestElement') return this.#annotated(`...${this.#slice(node.argument)}`, node.typeAnnotation)
    const target = node.type === 'AssignmentPattern' ? node.left : node
    const isOptional = node.type === 'AssignmentPattern' || ('optional' in target && Boolean(target.optional))
    const name = target.type === 'Identifier' ? target.name : nameAfter(this.#annotated('', target.typeAnnotation).text)
    return this.#annotated(isOptional ? `${name}?` : name, target.typeAnnotation)
  }

  #annotated(name: string, annotation: { readonly typeAnnotation: Span } | null | undefined): TypeText {
    if (!annotation) return { text: name, names: [] }
    const type = this.#type(annotation.typeAnnotation)
    return { ...type, text: `${name}: ${type.text}` }
  }

  /** The source in one line, without comments. */
  #type(span: Span): TypeText {
    const text = this.#slice(span)
      .replace(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')
      .replace(/\s+/g, ' ')
      .replace(/^\| /, '')
      .replace(/\breadonly (?=\w+\??:)/g, '')
      .replace(/([([]) | (?=[)\]])|,(?= [}\])])/g, '$1')
      .trim()
    return { text, names: this.#namesWithin(span) }
  }

  #verbatim(span: Span): TypeText {
    return { text: this.#slice(span), names: this.#namesWithin(span) }
  }

  #namesWithin({ start, end }: Span): string[] {
    return this.#names.filter((each) => each.start >= start && each.end <= end).map(({ name }) => name)
  }

  #slice({ start, end }: Span): string {
    return this.#text.slice(start, end)
  }

  #docOf({ start }: Span): Doc {
    const before = this.#text.slice(0, start).trimEnd().length
    const comment = this.#comments.find(({ end }) => end === before)
    return comment?.type === 'Block' && comment.value.startsWith('*') ? readDoc(comment.value.slice(1)) : NO_DOC
  }
}

/** The name of a parameter that is taken apart: that of its type, or `options`. */
function nameAfter(type: string): string {
  const [, first = '', rest = ''] = /^: ([A-Z])(\w*)$/.exec(type) ?? []
  return first === '' || rest.endsWith('Options') ? 'options' : first.toLowerCase() + rest
}

interface Signature {
  readonly params: readonly ParamPattern[]
  readonly returnType?: { readonly typeAnnotation: Span } | null
  readonly typeParameters?: TSTypeParameterDeclaration | null
}

function readDoc(comment: string): Doc {
  const lines = comment.split('\n').map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
  const [text = '', standard] = lines
    .join('\n')
    .trim()
    .split(/\s*@default\s+/)
  return { text: text.trim(), standard: standard?.replace(/\s+/g, ' ').trim() }
}
