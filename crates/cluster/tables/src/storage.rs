//! Volumes, claims, and the classes and drivers behind them.

use crate::network::with_default_mark;
use crate::read::{Read, View, cells};
use crate::registry::BuiltIn;
use model::{Value, meta};

pub(crate) const KINDS: &[BuiltIn] = &[
    BuiltIn {
        group: "",
        kind: "PersistentVolume",
        columns: "Name:name|Capacity|Access Modes|Reclaim Policy|Status|Claim|StorageClass|\
                  VolumeAttributesClass|Reason|Age|VolumeMode+",
        cells: volume,
    },
    BuiltIn {
        group: "",
        kind: "PersistentVolumeClaim",
        columns: "Name:name|Status|Volume|Capacity|Access Modes|StorageClass|\
                  VolumeAttributesClass|Age|VolumeMode+",
        cells: claim,
    },
    BuiltIn {
        group: "storage.k8s.io",
        kind: "StorageClass",
        columns: "Name:name|Provisioner|ReclaimPolicy|VolumeBindingMode|AllowVolumeExpansion|Age",
        cells: storage_class,
    },
    BuiltIn {
        group: "storage.k8s.io",
        kind: "VolumeAttributesClass",
        columns: "Name:name|DriverName|Age",
        cells: |v| cells![v.name(), v.text("driverName"), v.age()],
    },
    BuiltIn {
        group: "storage.k8s.io",
        kind: "VolumeAttachment",
        columns: "Name:name|Attacher:name|PV|Node|Attached:b|Age",
        cells: |v| {
            cells![
                v.name(),
                v.text("spec.attacher"),
                v.text("spec.source.persistentVolumeName"),
                v.text("spec.nodeName"),
                v.flag("status.attached"),
                v.age(),
            ]
        },
    },
    BuiltIn {
        group: "storage.k8s.io",
        kind: "CSIDriver",
        columns: "Name:name|AttachRequired:b|PodInfoOnMount:b|StorageCapacity:b|TokenRequests|\
                  RequiresRepublish:b|Modes|Age",
        cells: driver,
    },
    BuiltIn {
        group: "storage.k8s.io",
        kind: "CSINode",
        columns: "Name:name|Drivers:i|Age",
        cells: |v| cells![v.name(), v.count("spec.drivers"), v.age()],
    },
];

fn volume(v: &View) -> Vec<Value> {
    let claim = v.at("spec.claimRef").map_or(String::new(), |c| {
        format!("{}/{}", c.text("namespace"), c.text("name"))
    });
    cells![
        v.name(),
        v.quantity("spec.capacity.storage"),
        access_modes(v, "spec.accessModes"),
        v.text("spec.persistentVolumeReclaimPolicy"),
        phase(v),
        claim,
        class(v),
        v.opt("spec.volumeAttributesClassName").unwrap_or("<unset>"),
        v.text("status.reason"),
        v.age(),
        v.opt("spec.volumeMode").unwrap_or("<unset>"),
    ]
}

fn claim(v: &View) -> Vec<Value> {
    let volume = v.text("spec.volumeName");
    let (capacity, modes) = if volume.is_empty() {
        (String::new(), String::new())
    } else {
        let modes = access_modes(v, "status.accessModes");
        (v.quantity("status.capacity.storage"), modes)
    };
    cells![
        v.name(),
        phase(v),
        volume,
        capacity,
        modes,
        class(v),
        v.opt("spec.volumeAttributesClassName").unwrap_or("<unset>"),
        v.age(),
        v.opt("spec.volumeMode").unwrap_or("<unset>"),
    ]
}

fn phase<'a>(v: &'a View) -> &'a str {
    if v.deleting() {
        "Terminating"
    } else {
        v.text("status.phase")
    }
}

fn class<'a>(v: &'a View) -> &'a str {
    meta::annotation(v, "volume.beta.kubernetes.io/storage-class")
        .unwrap_or_else(|| v.text("spec.storageClassName"))
}

fn access_modes(v: &View, path: &str) -> String {
    let modes = v.texts(path);
    let short = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let found = short.iter().filter(|(mode, _)| modes.contains(mode));
    found.map(|(_, short)| *short).collect::<Vec<_>>().join(",")
}

fn storage_class(v: &View) -> Vec<Value> {
    let marks = [
        "storageclass.kubernetes.io/is-default-class",
        "storageclass.beta.kubernetes.io/is-default-class",
    ];
    let default = marks.iter().any(|m| meta::annotation(v, m) == Some("true"));
    cells![
        with_default_mark(v.name(), default),
        v.text("provisioner"),
        v.opt("reclaimPolicy").unwrap_or("Delete"),
        v.opt("volumeBindingMode").unwrap_or("Immediate"),
        v.flag("allowVolumeExpansion"),
        v.age(),
    ]
}

fn driver(v: &View) -> Vec<Value> {
    let attach = v.at("spec.attachRequired").and_then(Value::as_bool);
    let tokens = v.at("spec.tokenRequests").map_or("<unset>".into(), |_| {
        let requests = v.list("spec.tokenRequests").iter();
        requests
            .map(|r| r.text("audience"))
            .collect::<Vec<_>>()
            .join(",")
    });
    let modes = v.texts("spec.volumeLifecycleModes").join(",");
    cells![
        v.name(),
        attach.unwrap_or(true),
        v.flag("spec.podInfoOnMount"),
        v.flag("spec.storageCapacity"),
        tokens,
        v.flag("spec.requiresRepublish"),
        crate::read::or_none(modes),
        v.age(),
    ]
}
