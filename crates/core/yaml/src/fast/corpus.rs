//! Texts for tests: manifests, and manifests with something changed.

/// Texts whose parts mutations are made of.
pub(crate) const SEEDS: &[&str] = &[
    "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web # the name\n  labels: {app: web, \"a/b\": 'c'}\n  annotations:\n    note: |\n      first\n\n        second\n    strip: |-\n      one\n    keep: |+\n      two\n\nspec:\n  replicas: 3\n  paused: false\n  ratio: 0.50\n  mode: 0644\n  template:\n    spec:\n      containers:\n      - name: c\n        image: \"nginx:1.25\"\n        args: [--a, -b, \"c d\", 'e']\n        env:\n        - {name: A, value: \"1\"}\n        - name: B\n          value: it's # why\n        -\n          name: C\n      - name: d\n        command:\n          - sh\n          - -c\n          - echo \"x y\"\n",
    "a: plain text that\n  goes on here\n\n  and there\nb:\n- - x\n  - y\n- - z\nc: ~\nd:\ne: yes\n'quoted key': 1\n\"other\": two\nf: http://x.y/z?a=b#c\ng: a - b\nh: 2001-01-01\ni: 1e3\nj: -1\nk: .5\n",
    "{\n  \"apiVersion\": \"v1\",\n  \"items\": [\n    {\"a\": 1, \"b\": [true, null, -2.5e3]},\n    {}\n  ],\n  \"t\": \"x\\n\\\"y\\\"\"\n}\n",
    "- a\n- b: 1\n  c: 2\n-\n- [x, {w: z}]\n- \"q\"\n- |\n  lit\n- d:\n    e:\n    - f\n",
    "# comment\n\nx: &a {y1: 2}\nz: *a\nw: !!str 1\n<<: *a\n? k\n: v\n",
    "e1: ü\nname: naïve “quotes” – dash\nlist:\n- ß\n",
    "k: >-\n  folded\n  text\nl: \"two\n  lines\"\nm: 'x\n\n  y'\n",
];

const PIECES: &[&str] = &[
    "\n",
    " ",
    "  ",
    "- ",
    ": ",
    ":",
    "#",
    " #",
    "'",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
    "|",
    "|-\n",
    "&a ",
    "*a",
    "!t ",
    "\t",
    "---",
    "...",
    "%",
    "a",
    "0",
    "~",
    "\\",
    "yes",
    "key: value\n",
    "  - x\n",
    "\r\n",
    "é",
    "<<: ",
    "? ",
    "\n\n",
    ">",
    "@",
    "`",
    "-",
];

/// A small generator of numbers: the same ones every time.
pub(crate) struct Numbers(u64);

impl Numbers {
    /// Numbers from a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed | 1)
    }

    /// The next number below a limit.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// A text with something changed.
pub(crate) fn mutate(numbers: &mut Numbers) -> String {
    let mut chars: Vec<char> = SEEDS[numbers.below(SEEDS.len())].chars().collect();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(chars.len() + 1);
        match numbers.below(4) {
            0 => {
                let piece = PIECES[numbers.below(PIECES.len())];
                chars.splice(at..at, piece.chars());
            }
            1 => {
                let end = (at + 1 + numbers.below(6)).min(chars.len());
                chars.drain(at.min(end)..end);
            }
            2 => {
                let other: Vec<char> = SEEDS[numbers.below(SEEDS.len())].chars().collect();
                let from = numbers.below(other.len());
                let to = (from + numbers.below(40)).min(other.len());
                chars.splice(at..at, other[from..to].iter().copied());
            }
            _ => chars.truncate(at),
        }
    }
    chars.into_iter().collect()
}
